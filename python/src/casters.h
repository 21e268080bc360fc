// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "thalweg/nn/scope.h"

/// How the plain types of the engine look in Python: tensors are arrays, shapes tuples in which None is a free
/// dimension, element types are named as numpy does.
namespace thalweg::python {

/// A path as Python has them: a str or an os.PathLike.
struct PathText {
  std::string text;
};

}  // namespace thalweg::python

namespace nanobind::detail {

template <>
struct type_caster<thalweg::python::PathText> {
  NB_TYPE_CASTER(thalweg::python::PathText, const_name("str | os.PathLike[str]"))
  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    const object path = steal(PyOS_FSPath(source.ptr()));
    const char* text = path.is_valid() && PyUnicode_Check(path.ptr()) ? PyUnicode_AsUTF8(path.ptr()) : nullptr;
    PyErr_Clear();
    if (text != nullptr) value.text = text;
    return text != nullptr;
  }
  static handle from_cpp(const thalweg::python::PathText& path, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_FromString(path.text.c_str());
  }
};

template <>
struct type_caster<thalweg::Tensor> {
  NB_TYPE_CASTER(thalweg::Tensor, io_name("typing.Any", "numpy.typing.NDArray[typing.Any]"))
  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    try {
      return thalweg::python::tensor_from_array(source, value);
    } catch (...) {
      PyErr_Clear();
      return false;
    }
  }
  static handle from_cpp(const thalweg::Tensor& tensor, rv_policy, cleanup_list*) noexcept {
    try {
      return tensor.defined() ? thalweg::python::to_numpy(tensor).release() : none().release();
    } catch (python_error& error) {
      error.restore();
    } catch (const std::exception& error) {
      PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    return {};
  }
};

template <>
struct type_caster<thalweg::Shape> {
  NB_TYPE_CASTER(thalweg::Shape, io_name("collections.abc.Sequence[int | None]", "tuple[int | None, ...]"))
  bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<std::vector<std::optional<int64_t>>> dims;
    if (!dims.from_python(source, flags, cleanup)) return false;
    std::vector<int64_t> sizes;
    for (const std::optional<int64_t>& dim : dims.value) sizes.push_back(dim.value_or(thalweg::kFree));
    value = thalweg::Shape(std::move(sizes));
    return true;
  }
  static handle from_cpp(const thalweg::Shape& shape, rv_policy, cleanup_list*) noexcept {
    PyObject* result = PyTuple_New(shape.rank());
    for (int i = 0; result != nullptr && i < shape.rank(); ++i) {
      PyTuple_SET_ITEM(result, i, shape[i] == thalweg::kFree ? none().release().ptr() : PyLong_FromLongLong(shape[i]));
    }
    return result;
  }
};

/// A number for every spatial dimension, or one each.
template <>
struct type_caster<thalweg::nn::Size> {
  NB_TYPE_CASTER(thalweg::nn::Size, const_name("int | collections.abc.Sequence[int]"))
  type_caster() : value(0) {}
  bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<int64_t> one;
    make_caster<std::vector<int64_t>> each;
    const bool same = one.from_python(source, flags, cleanup);
    if (!same && !each.from_python(source, flags, cleanup)) return false;
    value = same ? thalweg::nn::Size(one.value) : thalweg::nn::Size(each.value);
    return true;
  }
  static handle from_cpp(const thalweg::nn::Size& size, rv_policy policy, cleanup_list* cleanup) noexcept {
    const std::vector<int64_t>& sizes = size.values();
    if (sizes.size() == 1) return PyLong_FromLongLong(sizes.front());
    return make_caster<std::vector<int64_t>>::from_cpp(sizes, policy, cleanup);
  }
};

template <>
struct type_caster<thalweg::DType> {
  NB_TYPE_CASTER(thalweg::DType, io_name("numpy.typing.DTypeLike", "str"))
  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    return thalweg::python::dtype_from_python(source, value);
  }
  static handle from_cpp(thalweg::DType dtype, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_FromString(thalweg::python::numpy_name(dtype));
  }
};

}  // namespace nanobind::detail

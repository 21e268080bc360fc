// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "arrays.h"

#include <nanobind/ndarray.h>

#include <array>
#include <cstring>

#include "arrow_array.h"
#include "casters.h"

namespace thalweg::python {
namespace {

struct TypeNames {
  DType dtype;
  const char* numpy;
  /// Of the buffer protocol: kind and size.
  char kind;
};

/// In the order of DType.
constexpr std::array<TypeNames, 13> kTypes = {{{DType::kF32, "float32", 'f'},
                                               {DType::kF64, "float64", 'f'},
                                               {DType::kBF16, "bfloat16", 0},
                                               {DType::kF16, "float16", 'f'},
                                               {DType::kI8, "int8", 'i'},
                                               {DType::kU8, "uint8", 'u'},
                                               {DType::kI32, "int32", 'i'},
                                               {DType::kI64, "int64", 'i'},
                                               {DType::kBool, "bool", '?'},
                                               {DType::kI16, "int16", 'i'},
                                               {DType::kU16, "uint16", 'u'},
                                               {DType::kU32, "uint32", 'u'},
                                               {DType::kU64, "uint64", 'u'}}};

bool find_type(char kind, size_t size, DType& result) {
  for (const TypeNames& type : kTypes) {
    if (type.kind != kind || size_of(type.dtype) != size) continue;
    result = type.dtype;
    return true;
  }
  return false;
}

/// From a format string of the struct module, in native byte order only.
bool type_of_format(const char* format, size_t size, DType& result) {
  if (format == nullptr) return find_type('u', size, result);
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (format[0] == '\0' || format[1] != '\0') return false;
  if (std::strchr("efd", *format) != nullptr) return find_type('f', size, result);
  if (std::strchr("bhilqn", *format) != nullptr) return find_type('i', size, result);
  if (std::strchr("BHILQN", *format) != nullptr) return find_type('u', size, result);
  return *format == '?' && find_type('?', size, result);
}

bool type_of_dlpack(nb::dlpack::dtype dtype, DType& result) {
  using Code = nb::dlpack::dtype_code;
  if (dtype.lanes != 1) return false;
  switch (static_cast<Code>(dtype.code)) {
    case Code::Float: return find_type('f', dtype.bits / 8U, result);
    case Code::Int: return find_type('i', dtype.bits / 8U, result);
    case Code::UInt: return find_type('u', dtype.bits / 8U, result);
    case Code::Bool: return find_type('?', 1, result);
    case Code::Bfloat: result = DType::kBF16; return dtype.bits == 16;
    default: return false;
  }
}

/// Memory without elements may have no address, which to a Tensor means that it is undefined.
Tensor borrow(DType dtype, Shape shape, void* data, std::shared_ptr<void> keep_alive) {
  if (shape.num_elements() == 0) return {dtype, std::move(shape)};
  return Tensor::borrow(dtype, std::move(shape), data, std::move(keep_alive));
}

/// Holds a buffer until the last tensor on it is gone, on whichever thread that is.
struct BufferView {
  Py_buffer view{};
  ~BufferView() {
    const nb::gil_scoped_acquire gil;
    PyBuffer_Release(&view);
  }
};

bool tensor_from_buffer(nb::handle object, Tensor& result) {
  auto buffer = std::make_shared<BufferView>();
  Py_buffer& view = buffer->view;
  if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
    PyErr_Clear();
    return false;
  }
  DType dtype{};
  if (!type_of_format(view.format, static_cast<size_t>(view.itemsize), dtype)) return false;
  Shape shape(std::vector<int64_t>(view.shape, view.shape + view.ndim));
  void* data = view.buf;
  result = borrow(dtype, std::move(shape), data, std::move(buffer));
  return true;
}

bool tensor_from_dlpack(nb::handle object, Tensor& result) {
  using Array = nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>;
  Array array;
  // numpy arrays that came as far as this hold no numbers.
  if (nb::hasattr(object, "__array_interface__") || !nb::try_cast(object, array)) return false;
  DType dtype{};
  if (!type_of_dlpack(array.dtype(), dtype)) return false;
  Shape shape(std::vector<int64_t>(array.shape_ptr(), array.shape_ptr() + array.ndim()));
  void* data = const_cast<void*>(static_cast<const void*>(array.data()));  // NOLINT: engines only read what is borrowed
  auto holder = std::shared_ptr<Array>(new Array(std::move(array)), [](Array* held) {
    const nb::gil_scoped_acquire gil;
    delete held;
  });
  result = borrow(dtype, std::move(shape), data, std::move(holder));
  return true;
}

/// numpy arrays that are not row-major, of bfloat16, or in another byte order.
bool tensor_from_odd_numpy(nb::handle object, Tensor& result) {
  const nb::object dtype = nb::getattr(object, "dtype", nb::none());
  if (dtype.is_none() || !nb::hasattr(object, "__array_interface__")) return false;
  const nb::module_ numpy = nb::module_::import_("numpy");
  const std::string name = nb::cast<std::string>(dtype.attr("name"));
  const bool bf16 = name == numpy_name(DType::kBF16);
  if (!bf16 && std::strchr("fiub", nb::cast<std::string>(dtype.attr("kind")).front()) == nullptr) return false;
  nb::object plain =
      numpy.attr("asarray")(object, nb::arg("dtype") = dtype.attr("newbyteorder")("="), nb::arg("order") = "C");
  if (bf16) plain = plain.attr("view")("uint16");
  if (!tensor_from_buffer(plain, result)) return false;
  if (bf16) result = Tensor::borrow(DType::kBF16, result.shape(), result.raw(), std::make_shared<Tensor>(result));
  return true;
}

}  // namespace

bool tensor_from_array(nb::handle object, Tensor& result) {
  return tensor_from_buffer(object, result) || tensor_from_odd_numpy(object, result) ||
         tensor_from_arrow(object, result) || tensor_from_dlpack(object, result);
}

Tensor to_tensor(nb::handle object) {
  Tensor result;
  if (tensor_from_array(object, result)) return result;
  // numpy would make NaN of Arrow's nulls, in silence.
  const bool has_nulls = nb::hasattr(object, "__arrow_c_array__");
  const nb::object array = nb::module_::import_("numpy").attr("asarray")(object);
  if (!has_nulls && tensor_from_array(array, result)) return result;
  const std::string type = nb::cast<std::string>(object.type().attr("__name__"));
  const std::string dtype = nb::cast<std::string>(array.attr("dtype").attr("name"));
  throw nb::type_error(("cannot take a " + type + " of element type " + dtype +
                        " as a tensor: it must be an array of numbers (numpy, DLPack, Arrow without nulls)")
                           .c_str());
}

const char* numpy_name(DType dtype) { return kTypes[static_cast<size_t>(dtype)].numpy; }

bool dtype_from_python(nb::handle object, DType& result) noexcept {
  nb::object named = nb::borrow(object);
  if (PyUnicode_Check(object.ptr()) == 0) {
    const nb::object numpy = nb::steal(PyImport_ImportModule("numpy"));
    const nb::object dtype =
        numpy.is_valid() ? nb::steal(PyObject_CallMethod(numpy.ptr(), "dtype", "O", object.ptr())) : nb::object();
    named = dtype.is_valid() ? nb::steal(PyObject_GetAttrString(dtype.ptr(), "name")) : nb::object();
  }
  const char* name = named.is_valid() ? PyUnicode_AsUTF8(named.ptr()) : nullptr;
  for (const TypeNames& type : kTypes) {
    if (name == nullptr || (std::strcmp(name, type.numpy) != 0 && std::strcmp(name, name_of(type.dtype)) != 0))
      continue;
    result = type.dtype;
    return true;
  }
  PyErr_Clear();
  return false;
}

namespace {

nb::object bf16_to_numpy(const Tensor& tensor) {
  try {
    const nb::object dtype = nb::module_::import_("ml_dtypes").attr("bfloat16");
    const Tensor bits = Tensor::borrow(DType::kU16, tensor.shape(), tensor.raw(), std::make_shared<Tensor>(tensor));
    return to_numpy(bits).attr("view")(dtype);
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    return to_numpy(tensor.to(DType::kF32));
  }
}

nb::dlpack::dtype to_dlpack(DType dtype) {
  using Code = nb::dlpack::dtype_code;
  const char kind = kTypes[static_cast<size_t>(dtype)].kind;
  const Code code = kind == 'f' ? Code::Float : kind == 'i' ? Code::Int : kind == 'u' ? Code::UInt : Code::Bool;
  return {static_cast<uint8_t>(code), static_cast<uint8_t>(size_of(dtype) * 8), 1};
}

}  // namespace

nb::object to_numpy(const Tensor& tensor) {
  if (tensor.dtype() == DType::kBF16) return bf16_to_numpy(tensor);
  const nb::capsule owner(new Tensor(tensor), [](void* held) noexcept { delete static_cast<Tensor*>(held); });
  const std::vector<size_t> shape(tensor.shape().begin(), tensor.shape().end());
  const nb::ndarray<nb::numpy> array(tensor.raw(), shape.size(), shape.data(), owner, nullptr,
                                     to_dlpack(tensor.dtype()), nb::device::cpu::value);
  return nb::cast(array, nb::rv_policy::reference);
}

}  // namespace thalweg::python

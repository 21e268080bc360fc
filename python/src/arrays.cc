// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "arrays.h"

#include <nanobind/ndarray.h>

#include <array>
#include <cstring>

#include "arrow_array.h"
#include "casters.h"
#include "thalweg/stored_types.h"

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

/// Types that numpy has by way of ml_dtypes, or not at all.
constexpr std::array<TypeNames, 13> kStoredTypes = {{{stored::kF8E4M3FN, "float8_e4m3fn", 0},
                                                     {stored::kF8E4M3FNUZ, "float8_e4m3fnuz", 0},
                                                     {stored::kF8E5M2, "float8_e5m2", 0},
                                                     {stored::kF8E5M2FNUZ, "float8_e5m2fnuz", 0},
                                                     {stored::kF8E8M0, "float8_e8m0fnu", 0},
                                                     {stored::kF4E2M1, "float4_e2m1fn", 0},
                                                     {stored::kI4, "int4", 0},
                                                     {stored::kU4, "uint4", 0},
                                                     {stored::kI2, "int2", 0},
                                                     {stored::kU2, "uint2", 0},
                                                     {stored::kText, "str", 0},
                                                     {stored::kSequence, "list", 0},
                                                     {stored::kNothing, "None", 0}}};

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

/// numpy arrays of ml_dtypes' numbers of 8 bits and less, which have a byte each there too.
bool tensor_from_narrow_numpy(nb::handle object, Tensor& result) {
  const nb::object dtype = nb::getattr(object, "dtype", nb::none());
  if (dtype.is_none() || !nb::hasattr(object, "__array_interface__")) return false;
  const std::string name = nb::cast<std::string>(dtype.attr("name"));
  for (const TypeNames& type : kStoredTypes) {
    if (name != type.numpy || !stored::is_narrow(type.dtype)) continue;
    const nb::object plain = nb::module_::import_("numpy").attr("ascontiguousarray")(object).attr("view")("uint8");
    if (!tensor_from_buffer(plain, result)) return false;
    result = Tensor::borrow(type.dtype, result.shape(), result.raw(), std::make_shared<Tensor>(result));
    return true;
  }
  return false;
}

/// numpy arrays of texts, as such or as objects.
bool tensor_from_texts(nb::handle object, Tensor& result) {
  const nb::object dtype = nb::getattr(object, "dtype", nb::none());
  if (dtype.is_none() || !nb::hasattr(object, "__array_interface__")) return false;
  if (std::strchr("USO", nb::cast<std::string>(dtype.attr("kind")).front()) == nullptr) return false;
  std::vector<std::string> texts;
  for (const nb::handle item : object.attr("ravel")().attr("tolist")()) {
    if (nb::isinstance<nb::bytes>(item)) {
      const auto bytes = nb::borrow<nb::bytes>(item);
      texts.emplace_back(bytes.c_str(), bytes.size());
    } else if (!nb::isinstance<nb::str>(item)) {
      return false;
    } else {
      texts.push_back(nb::cast<std::string>(item));
    }
  }
  result = stored::texts(Shape(nb::cast<std::vector<int64_t>>(object.attr("shape"))), std::move(texts));
  return true;
}

}  // namespace

bool tensor_from_array(nb::handle object, Tensor& result) {
  return tensor_from_buffer(object, result) || tensor_from_narrow_numpy(object, result) ||
         tensor_from_odd_numpy(object, result) || tensor_from_arrow(object, result) ||
         tensor_from_dlpack(object, result) || tensor_from_texts(object, result);
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

const char* numpy_name(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  return index < kTypes.size() ? kTypes[index].numpy : kStoredTypes[index - kTypes.size()].numpy;
}

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

/// As ml_dtypes has it, whose elements have the same bits, or as float32 where that is not installed.
nb::object odd_to_numpy(const Tensor& tensor) {
  try {
    const nb::object dtype = nb::module_::import_("ml_dtypes").attr(numpy_name(tensor.dtype()));
    const DType plain = size_of(tensor.dtype()) == 2 ? DType::kU16 : DType::kU8;
    const Tensor bits = Tensor::borrow(plain, tensor.shape(), tensor.raw(), std::make_shared<Tensor>(tensor));
    return to_numpy(bits).attr("view")(dtype);
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    return to_numpy(tensor.to(DType::kF32));
  }
}

/// What is no text in UTF-8 keeps its bytes, as file names do in Python.
nb::object texts_to_numpy(const Tensor& tensor) {
  nb::list texts;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const std::string& text = stored::texts_of(tensor)[i];
    texts.append(nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape")));
  }
  const nb::object array = nb::module_::import_("numpy").attr("array")(texts, nb::arg("dtype") = "object");
  return array.attr("reshape")(nb::cast(tensor.shape().dims()));
}

nb::object object_to_python(const Tensor& tensor) {
  if (tensor.dtype() == stored::kText) return texts_to_numpy(tensor);
  if (tensor.dtype() == stored::kNothing) return nb::none();
  nb::list items;
  for (const Tensor& item : stored::items_of(tensor)) items.append(to_numpy(item));
  return items;
}

nb::dlpack::dtype to_dlpack(DType dtype) {
  using Code = nb::dlpack::dtype_code;
  const char kind = kTypes[static_cast<size_t>(dtype)].kind;
  const Code code = kind == 'f' ? Code::Float : kind == 'i' ? Code::Int : kind == 'u' ? Code::UInt : Code::Bool;
  return {static_cast<uint8_t>(code), static_cast<uint8_t>(size_of(dtype) * 8), 1};
}

}  // namespace

nb::object to_numpy(const Tensor& tensor) {
  if (stored::is_object(tensor.dtype())) return object_to_python(tensor);
  if (tensor.dtype() == DType::kBF16 || stored::is_narrow(tensor.dtype())) return odd_to_numpy(tensor);
  const nb::capsule owner(new Tensor(tensor), [](void* held) noexcept { delete static_cast<Tensor*>(held); });
  const std::vector<size_t> shape(tensor.shape().begin(), tensor.shape().end());
  const nb::ndarray<nb::numpy> array(tensor.raw(), shape.size(), shape.data(), owner, nullptr,
                                     to_dlpack(tensor.dtype()), nb::device::cpu::value);
  return nb::cast(array, nb::rv_policy::reference);
}

}  // namespace thalweg::python

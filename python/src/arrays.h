// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include "thalweg/input_error.h"
#include "thalweg/tensor.h"

/// Tensors and Python's arrays. Memory is shared both ways wherever it is dense and row-major.
namespace thalweg::python {

namespace nb = nanobind;

/// Anything with the buffer protocol (numpy), DLPack (PyTorch and others) or Arrow's C data interface. The tensor keeps
/// the object alive; what is not dense and row-major is copied. False, with no exception set, if it is none of these.
bool tensor_from_array(nb::handle object, Tensor& result);
/// As above, and lists of numbers too. Throws TypeError.
Tensor to_tensor(nb::handle object);

/// A numpy array that shares the tensor's memory. bf16 needs ml_dtypes, and is widened to f32 without it.
nb::object to_numpy(const Tensor& tensor);

/// The name that numpy gives the element type.
const char* numpy_name(DType dtype);
/// From a str (numpy's name or Thalweg's own), a numpy dtype or a type such as numpy.float32.
bool dtype_from_python(nb::handle object, DType& result) noexcept;

}  // namespace thalweg::python

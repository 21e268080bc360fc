// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arrays.h"

namespace thalweg::python {

/// Shares the memory of an array of numbers that an object hands out by Arrow's C data interface (__arrow_c_array__): a
/// primitive type, or fixed-size lists of one, without nulls. False if the object is no such array.
bool tensor_from_arrow(nb::handle object, Tensor& result);

}  // namespace thalweg::python

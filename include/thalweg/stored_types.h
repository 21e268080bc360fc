// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "thalweg/tensor.h"

/// Element types that tensors may hold but that nothing computes with. The enumerators of DType are the types that have
/// arithmetic or loops of their own; an op that meets one of these without knowing it refuses it by name.
namespace thalweg::stored {

/// Numbers of 8, 4 and 2 bits. Each has a byte of its own, whose upper bits are 0 where it has less than 8. They are
/// moved, converted (Tensor::to) and dequantised.
inline constexpr DType kF8E4M3FN{13}, kF8E4M3FNUZ{14}, kF8E5M2{15}, kF8E5M2FNUZ{16}, kF8E8M0{17}, kF4E2M1{18}, kI4{19},
    kU4{20}, kI2{21}, kU2{22};

/// What is no number: texts of bytes, lists of tensors (of rank 1), and the absence of a value. Their elements have no
/// size: what would copy them as bytes is an error. Only ops that the host executes take them.
inline constexpr DType kText{23}, kSequence{24}, kNothing{25};

bool is_narrow(DType dtype);
bool is_object(DType dtype);

/// How numbers are made narrow where more than one way is in use.
struct Narrowing {
  /// What is too large becomes the largest number rather than infinity or NaN; for floats of 8 bits.
  bool saturate = true;
  /// Of powers of two (kF8E8M0): "up", "down" or "nearest".
  std::string round_mode = "up";
};
/// A copy converted to a narrow type, from any type that is not an object.
Tensor narrowed(const Tensor& from, DType dtype, const Narrowing& how = {});
/// A copy of a narrow tensor as f32, which is exact.
Tensor widened(const Tensor& narrow);

Tensor texts(Shape shape, std::vector<std::string> elements);
/// The elements of a tensor of texts; throws if it is none.
const std::string* texts_of(const Tensor& tensor);

Tensor sequence(std::vector<Tensor> items);
/// Throws if the tensor is no sequence.
const std::vector<Tensor>& items_of(const Tensor& tensor);

/// An optional value that has none.
Tensor nothing();

}  // namespace thalweg::stored

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "thalweg/graph.h"

namespace thalweg::ops {

/// Complex numbers as two values of one shape. The imaginary part of real numbers is null.
struct Complex {
  Value* real = nullptr;
  Value* imaginary = nullptr;
};

struct FourierOptions {
  /// Along the last dimension x is first cut to this length, or filled up with zeros. 0: as it is.
  int64_t length = 0;
  /// How many of the results are wanted, the first ones. 0: all.
  int64_t kept = 0;
  /// The sign of the exponent is positive. Nothing is divided by the length.
  bool inverse = false;
};

/// Discrete Fourier transform along the last dimension, whose size must be known. Composed of products with matrices of
/// cosines and sines, and of shorter transforms where it is long; prime lengths of more than 2^14 are an error.
Complex fourier(const Complex& x, const FourierOptions& options = {});
/// The real numbers of `length` of which x is the first half of the spectrum, length / 2 + 1 numbers: cut or filled up
/// with zeros to as many. Nothing is divided by the length.
Value* fourier_of_half(const Complex& x, int64_t length);

}  // namespace thalweg::ops

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "thalweg/tensor.h"

namespace thalweg::sync {

/// Numbers of half the width in place of f32.
class Codec {
 public:
  virtual ~Codec() = default;
  /// For bf16 and f16; null for f32.
  static std::unique_ptr<Codec> make(DType dtype);

  virtual DType dtype() const = 0;
  virtual void encode(std::span<const float> values, void* encoded) const = 0;
  virtual void decode(const void* encoded, std::span<float> values) const = 0;
};

/// Encodes gradients together with what earlier ones have lost, `kept`, and writes what is lost now to `next`, which
/// may be the same memory: so nothing is lost in the long run (error feedback).
void encode_with_feedback(const Codec& codec, std::span<const float> fresh, std::span<const float> kept,
                          std::span<float> next, void* encoded);

}  // namespace thalweg::sync

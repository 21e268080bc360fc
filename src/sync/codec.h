// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "thalweg/sync.h"

namespace thalweg::sync {

/// A shorter form in which gradients travel, and dense ones are added up.
class Codec {
 public:
  virtual ~Codec() = default;
  /// Null for Compression::kNone.
  static std::unique_ptr<Codec> make(Compression compression);

  /// What sums are made in, one element for each of the gradients.
  virtual DType dtype() const = 0;
  virtual void encode(std::span<const float> values, void* encoded) const = 0;
  virtual void decode(const void* encoded, std::span<float> values) const = 0;
};

/// Encodes gradients together with what earlier ones have lost, `kept`, as long as they are, and keeps what is lost
/// now: so nothing is lost in the long run (error feedback).
void encode_with_feedback(const Codec& codec, std::span<const float> fresh, std::span<float> kept, void* encoded);

}  // namespace thalweg::sync

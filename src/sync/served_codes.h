// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/variables.h"
#include "sync/compress/compressor.h"
#include "sync/gradient_buckets.h"

namespace thalweg::sync {

/// The form in which a worker's gradients go to those who serve parts of the parameters, in a compressor's form if
/// there is one. All dense gradients lie in one row, which is cut into equal parts, one for each server.
class ServedCodes {
 public:
  /// Null: as they are.
  explicit ServedCodes(std::unique_ptr<Compressor> compressor) : compressor_(std::move(compressor)) {}

  Compressor* compressor() { return compressor_.get(); }
  /// The gradients that follow are those of these buckets, which are one bucket, for so many servers. What the
  /// compressor keeps stays.
  void use(const GradientBuckets& buckets, const Variables& variables, int parts);
  /// Makes the codes of a row of gradients, of which `append` takes what a part needs.
  void encode(std::span<const float> row, const CodeStep& step);
  void append(int part, Bytes& message) const;
  /// Adds what the codes of a part stand for to `sum`, its elements. From any one thread, while another encodes.
  /// Throws Error if it is no such code.
  void decode_add(int part, std::span<const std::byte> codes, std::span<float> sum) const;

 private:
  /// A gradient in the row.
  struct Item {
    size_t begin = 0;
    size_t floats = 0;
  };
  /// The elements that a part has of a gradient, counted from the gradient's first.
  comm::Part in_part(const Item& item, int part) const;

  std::unique_ptr<Compressor> compressor_;
  std::vector<Item> items_;
  size_t floats_ = 0;
  int parts_ = 1;
  /// By gradient. Without a compressor, the row.
  std::vector<Bytes> codes_;
  std::vector<float> row_;
};

}  // namespace thalweg::sync

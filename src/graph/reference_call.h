// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>

#include "thalweg/graph.h"

namespace thalweg {

/// One call of an op's plain form: row-major tensors in and out. Absent inputs are undefined tensors. Two-byte floats
/// never reach it: they are converted to f32 before and back afterwards.
struct ReferenceCall {
  const Node& node;
  std::span<const Tensor> inputs;
  std::span<Tensor> outputs;
  uint64_t step = 0;

  const Attributes& attrs() const { return node.attrs(); }
  const Tensor& in(size_t index) const { return inputs[index]; }
  bool has(size_t index) const { return index < inputs.size() && inputs[index].defined(); }
  Tensor& out(size_t index = 0) const { return outputs[index]; }
};

/// The plain form of an op: the definition that all faster kernels are tested against, for f32 and f64 (and the integer
/// types where they make sense). Written for reading, single-threaded unless that is trivial.
using ReferenceFunction = std::function<void(const ReferenceCall&)>;

}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/graph.h"

namespace thalweg {

/// Where the heads of one operand of attention lie in row-major memory: element d of head h at time t of sequence b is
/// at offset + b * batch + t * time + h * head + d.
struct HeadStrides {
  int64_t offset = 0, batch = 0, time = 0, head = 0;
};

/// The sizes of an attention node, or of its gradient, and where its operands lie. Attribute "layout": bhtd, bthd, or
/// packed (one input with q, k and v, and attribute "heads").
struct AttentionShape {
  int64_t batch = 0, heads = 0, queries = 0, keys = 0, width = 0, value_width = 0;
  HeadStrides q, k, v, y;
  double scale = 1.0;
  bool causal = false, packed = false;

  /// From the shapes of inputs 0 to 2 (k and v may be those of q if packed).
  AttentionShape(const Attributes& attrs, const Shape& q, const Shape& k, const Shape& v);
  /// Keys that position `query` sees.
  int64_t visible(int64_t query) const;
};

}  // namespace thalweg

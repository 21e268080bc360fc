// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/graph.h"

namespace thalweg {

/// A row-major tensor seen as [outer, size, inner] around one axis.
struct AxisView {
  int64_t outer = 0, size = 0, inner = 0;

  AxisView(const Shape& shape, int64_t axis) {
    const int at = static_cast<int>(axis < 0 ? axis + shape.rank() : axis);
    outer = shape.num_elements(0, at);
    size = shape[at];
    inner = shape.num_elements(at + 1, shape.rank());
  }
  /// Lines along the axis; line i begins at element `begin(i)`, and its elements are `inner` apart.
  int64_t lines() const { return outer * inner; }
  int64_t begin(int64_t line) const { return line / inner * size * inner + line % inner; }
};

/// Class numbers of a loss, of either integer type.
class Labels {
 public:
  /// Throws if one of them is neither `ignored` nor in [0, classes).
  Labels(const Node& node, DType dtype, const void* data, int64_t count, int64_t classes)
      : wide_(dtype == DType::kI64), data_(data), ignored_(node.attrs().integer("ignore_index")) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t label = (*this)[i];
      TW_REQUIRE((label >= 0 && label < classes) || label == ignored_, describe(node), ": label ", label, " in row ", i,
                 " is outside of [0,", classes, ")");
    }
  }
  int64_t operator[](int64_t index) const {
    return wide_ ? static_cast<const int64_t*>(data_)[index] : static_cast<const int32_t*>(data_)[index];
  }
  bool ignores(int64_t index) const { return (*this)[index] == ignored_; }

 private:
  bool wide_;
  const void* data_;
  int64_t ignored_;
};

}  // namespace thalweg

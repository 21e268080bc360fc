// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// max_roi_pool(x, rois): x [N, C, H, W], rois [R, 5] (number of the picture, left, top, right, bottom).
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/op_registry.h"
#include "ops/ids_rare.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer(const InferContext& context) {
  context.require_floating(0);
  context.require_rank(0, 4);
  context.require_rank(1, 2);
  const std::vector<int64_t> bins = context.attrs().integers("pooled_shape");
  context.require(bins.size() == 2, "pooled_shape must have a height and a width");
  context.require(context.shape(1)[1] == 5, "regions have a picture and 4 coordinates, not ", context.shape(1)[1]);
  context.require(context.dtype(1) == context.dtype(0), "regions must have the element type of the pictures");
  return {{context.dtype(0), {context.shape(1)[0], context.shape(0)[1], bins[0], bins[1]}}};
}

struct Span {
  int64_t begin, end;
};

/// Bin `index` of `bins` over the elements from `first` to `last`, both included, cut to `size`.
Span bin_of(double first, double last, int64_t index, int64_t bins, int64_t size) {
  const double extent = std::max(last - first + 1, 1.0) / static_cast<double>(bins);
  const auto cut = [&](double place) {
    return static_cast<int64_t>(std::clamp(place, 0.0, static_cast<double>(size)));
  };
  return {cut(std::floor(static_cast<double>(index) * extent) + first),
          cut(std::ceil(static_cast<double>(index + 1) * extent) + first)};
}

template <typename T>
T largest(const T* plane, int64_t width, const Span& rows, const Span& columns) {
  if (rows.begin >= rows.end || columns.begin >= columns.end) return T{};
  T most = std::numeric_limits<T>::lowest();
  for (int64_t h = rows.begin; h < rows.end; ++h) {
    for (int64_t w = columns.begin; w < columns.end; ++w) most = std::max(most, plane[h * width + w]);
  }
  return most;
}

void pool(const ReferenceCall& call) {
  const Shape &x = call.in(0).shape(), &y = call.out().shape();
  const double scale = call.attrs().real("spatial_scale");
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    T* out = call.out().data<T>();
    for (int64_t r = 0; r < y[0]; ++r) {
      const T* roi = call.in(1).data<T>() + r * 5;
      const auto picture = convert_element<int64_t>(roi[0]);
      TW_REQUIRE(picture >= 0 && picture < x[0], describe(call.node), ": region ", r, " lies in picture ", picture,
                 " of ", x[0]);
      double side[4];
      for (int i = 0; i < 4; ++i) side[i] = std::round(static_cast<double>(roi[i + 1]) * scale);
      TW_REQUIRE(std::all_of(side, side + 4, [](double s) { return std::isfinite(s); }), describe(call.node),
                 ": region ", r, " has coordinates that are no numbers");
      for (int64_t c = 0; c < x[1]; ++c) {
        const T* plane = call.in(0).data<T>() + (picture * x[1] + c) * x[2] * x[3];
        for (int64_t i = 0; i < y[2]; ++i) {
          for (int64_t j = 0; j < y[3]; ++j) {
            *out++ =
                largest(plane, x[3], bin_of(side[1], side[3], i, y[2], x[2]), bin_of(side[0], side[2], j, y[3], x[3]));
          }
        }
      }
    }
  });
}

const RegisterOp kMaxRoiPool(
    op::kMaxRoiPool, 2, "The largest elements of regions of pictures, in bins.", infer, nullptr,
    {attr::integers("pooled_shape", "bins from top to bottom and from left to right").between(1, 1 << 12).needed(),
     attr::real("spatial_scale", 1.0, "from coordinates of regions to elements")},
    {.reference = pool, .onnx = {{"MaxRoiPool"}}});

}  // namespace
}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// roi_align(x, rois, pictures) -> y      x [N, C, H, W], rois [R, 4] (left, top, right, bottom), pictures i64 [R]:
// which
//                                        one of x each region lies in; y [R, C, output_height, output_width]
// roi_align_grad(dy, rois, pictures, x)  of x only the shape counts
#include <algorithm>
#include <cmath>

#include "graph/compose.h"
#include "ops/ids_rare.h"
#include "ops/roi_samples.h"
#include "tensor/dtype.h"
#include "thalweg/ops/elementwise.h"

namespace thalweg {

RoiLine roi_line(double start, double extent, int64_t bins, int64_t ratio, int64_t size) {
  RoiLine line;
  line.bins.resize(static_cast<size_t>(bins));
  const double bin = extent / static_cast<double>(bins);
  const double samples = ratio > 0 ? static_cast<double>(ratio) : std::ceil(bin);
  if (!std::isfinite(start) || !(samples >= 1) || !std::isfinite(bin) || size < 1) return line;
  line.samples = samples;
  const double step = bin / samples, last = static_cast<double>(size);
  for (int64_t b = 0; b < bins; ++b) {
    const double first = start + static_cast<double>(b) * bin + 0.5 * step;
    // Those beyond the picture by more than an element are 0. Steps are counted from the first that is not, whose place
    // rounding must not move outside again: there are regions so large that one step is less than that.
    const double skipped = step > 0 ? std::max(0.0, std::ceil((-1.0 - first) / step)) : 0.0;
    const double begin = skipped > 0 ? std::max(-1.0, first + skipped * step) : first;
    for (int64_t k = 0; skipped + static_cast<double>(k) < samples; ++k) {
      double place = begin + static_cast<double>(k) * step;
      if (place > last) break;
      if (place < -1.0) continue;
      place = std::max(place, 0.0);
      const auto low = std::min(static_cast<int64_t>(place), size - 1);
      const double high_weight = low == size - 1 ? 0.0 : place - static_cast<double>(low);
      line.bins[static_cast<size_t>(b)].push_back({low, std::min(low + 1, size - 1), 1 - high_weight, high_weight});
    }
  }
  return line;
}

namespace {

void check_regions(const InferContext& context, const Shape& x) {
  context.require(x.rank() == 4, "pictures must be [N, C, H, W]");
  context.require_rank(1, 2);
  context.require_rank(2, 1);
  const Shape& rois = context.shape(1);
  context.require(rois[1] == 4, "regions have 4 coordinates, not ", rois[1]);
  context.require(rois[0] == kFree || context.shape(2)[0] == kFree || rois[0] == context.shape(2)[0], "there are ",
                  rois[0], " regions, and the pictures of ", context.shape(2)[0]);
  context.require(context.dtype(2) == DType::kI64, "numbers of pictures must be i64");
  context.require(context.dtype(1) == context.dtype(0), "regions must have the element type of the pictures");
}

std::vector<TensorType> infer(const InferContext& context) {
  context.require_floating(0);
  check_regions(context, context.shape(0));
  return {{context.dtype(0),
           {context.shape(1)[0], context.shape(0)[1], context.attrs().integer("output_height"),
            context.attrs().integer("output_width")}}};
}

std::vector<TensorType> infer_grad(const InferContext& context) {
  check_regions(context, context.shape(3));
  return {{context.dtype(0), context.shape(3)}};
}

void gradient(GradientContext& context) {
  TW_REQUIRE(context.attrs().text("mode") == "avg", describe(context.node()), ": only means have a gradient");
  if (!context.wants(0)) return;
  const std::vector<Value*> inputs{context.output_gradient(), context.input(1), context.input(2), context.input(0)};
  context.set(0, context.graph().add(op::kRoiAlignGrad, inputs, context.attrs())->output());
}

/// Calls `body(region, picture, roi)` for every region.
template <typename T, typename Body>
void for_each_region(const ReferenceCall& call, const Shape& x, Body body) {
  const Tensor &rois = call.in(1), &pictures = call.in(2);
  for (int64_t r = 0; r < rois.shape()[0]; ++r) {
    const int64_t picture = pictures.data<int64_t>()[r];
    TW_REQUIRE(picture >= 0 && picture < x[0], describe(call.node), ": region ", r, " lies in picture ", picture,
               " of ", x[0]);
    body(r, picture, roi_region(call.attrs(), rois.data<T>() + r * 4, x[2], x[3]));
  }
}

/// The mean of a bin's samples, or the largest of the parts that make them up, as those who introduced it have it.
template <typename T>
T pooled(const T* plane, int64_t width, const std::vector<RoiSample>& rows, const std::vector<RoiSample>& columns,
         double count, bool largest) {
  double sum = 0, most = 0;
  bool any = false;
  for (const RoiSample& row : rows) {
    for (const RoiSample& column : columns) {
      const double parts[] = {
          row.low_weight * column.low_weight * static_cast<double>(plane[row.low * width + column.low]),
          row.low_weight * column.high_weight * static_cast<double>(plane[row.low * width + column.high]),
          row.high_weight * column.low_weight * static_cast<double>(plane[row.high * width + column.low]),
          row.high_weight * column.high_weight * static_cast<double>(plane[row.high * width + column.high])};
      for (const double part : parts) {
        sum += part;
        most = any ? std::max(most, part) : part;
        any = true;
      }
    }
  }
  return static_cast<T>(largest ? most : sum / count);
}

void align(const ReferenceCall& call) {
  const Shape &x = call.in(0).shape(), &y = call.out().shape();
  const bool largest = call.attrs().text("mode") == "max";
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    T* out = call.out().data<T>();
    for_each_region<T>(call, x, [&](int64_t, int64_t picture, const RoiRegion& region) {
      const double count = region.rows.samples * region.columns.samples;
      for (int64_t c = 0; c < x[1]; ++c) {
        const T* plane = call.in(0).data<T>() + (picture * x[1] + c) * x[2] * x[3];
        for (int64_t i = 0; i < y[2]; ++i) {
          for (int64_t j = 0; j < y[3]; ++j) {
            *out++ = pooled(plane, x[3], region.rows.bins[static_cast<size_t>(i)],
                            region.columns.bins[static_cast<size_t>(j)], count, largest);
          }
        }
      }
    });
  });
}

template <typename T>
void spread(T* plane, int64_t width, const std::vector<RoiSample>& rows, const std::vector<RoiSample>& columns,
            double share) {
  for (const RoiSample& row : rows) {
    for (const RoiSample& column : columns) {
      plane[row.low * width + column.low] += static_cast<T>(share * row.low_weight * column.low_weight);
      plane[row.low * width + column.high] += static_cast<T>(share * row.low_weight * column.high_weight);
      plane[row.high * width + column.low] += static_cast<T>(share * row.high_weight * column.low_weight);
      plane[row.high * width + column.high] += static_cast<T>(share * row.high_weight * column.high_weight);
    }
  }
}

void align_grad(const ReferenceCall& call) {
  const Shape &x = call.out().shape(), &y = call.in(0).shape();
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    std::fill_n(call.out().data<T>(), call.out().num_elements(), T{});
    const T* dy = call.in(0).data<T>();
    for_each_region<T>(call, x, [&](int64_t, int64_t picture, const RoiRegion& region) {
      const double count = region.rows.samples * region.columns.samples;
      for (int64_t c = 0; c < x[1]; ++c) {
        T* plane = call.out().data<T>() + (picture * x[1] + c) * x[2] * x[3];
        for (int64_t i = 0; i < y[2]; ++i) {
          for (int64_t j = 0; j < y[3]; ++j) {
            spread(plane, x[3], region.rows.bins[static_cast<size_t>(i)], region.columns.bins[static_cast<size_t>(j)],
                   static_cast<double>(*dy++) / count);
          }
        }
      }
    });
  });
}

constexpr double kMostBins = 1 << 12;
const std::vector<AttributeDef> kAttributes{
    attr::integer("output_height", 1, "bins from top to bottom").between(1, kMostBins),
    attr::integer("output_width", 1, "bins from left to right").between(1, kMostBins),
    attr::integer("sampling_ratio", 0, "samples along each side of a bin; 0: one for each element")
        .between(0, kMostBins),
    attr::real("spatial_scale", 1.0, "from coordinates of regions to elements"),
    attr::text("mode", "avg", "of a bin's samples").one_of({"avg", "max"}),
    attr::text("coordinate_transformation_mode", "half_pixel", "whether elements lie half way between coordinates")
        .one_of({"half_pixel", "output_half_pixel"})};

const RegisterOp kRoiAlign(op::kRoiAlign, 3, "Regions of pictures in bins of one size each, by samples in between.",
                           infer, gradient, kAttributes, {.reference = align});
const RegisterOp kRoiAlignGrad(op::kRoiAlignGrad, 4, "", infer_grad, nullptr, kAttributes, {.reference = align_grad});

/// Before opset 16 there was no shift by half an element.
std::vector<Value*> compose_onnx(const ComposeContext& context) {
  Attributes attrs;
  for (const char* number : {"output_height", "output_width", "sampling_ratio"}) {
    if (context.has_attribute(number)) attrs.set(number, context.integer(number, 0));
  }
  attrs.set("spatial_scale", context.real("spatial_scale", 1.0));
  attrs.set("mode", context.text("mode", "avg"));
  const char* usual = context.opset() < 16 ? "output_half_pixel" : "half_pixel";
  attrs.set("coordinate_transformation_mode", context.text("coordinate_transformation_mode", usual));
  Value* rois = ops::cast(context.input(1), context.input(0)->dtype());
  const std::vector<Value*> inputs{context.input(0), rois, ops::cast(context.input(2), DType::kI64)};
  return context.graph().add(op::kRoiAlign, inputs, attrs, context.name())->outputs();
}

const RegisterComposed kOnnx("onnx.RoiAlign", compose_onnx);

}  // namespace
}  // namespace thalweg

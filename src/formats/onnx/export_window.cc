// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Convolutions, pools and what else looks at neighbourhoods.
#include <algorithm>

#include "formats/onnx/exporter.h"
#include "ops/ids.h"
#include "ops/ids_rare.h"
#include "ops/window.h"

namespace thalweg::onnx {
namespace {

std::vector<AttributeProto> window_attributes(const Window& window, bool dilated) {
  std::vector<int64_t> pads = window.begins;
  pads.insert(pads.end(), window.ends.begin(), window.ends.end());
  std::vector<AttributeProto> attributes = {integers_attribute("kernel_shape", window.kernel),
                                            integers_attribute("strides", window.strides),
                                            integers_attribute("pads", pads)};
  if (dilated) attributes.push_back(integers_attribute("dilations", window.dilations));
  return attributes;
}

void write_conv(Exporter& exporter, const Node& node) {
  TW_REQUIRE(node.attrs().text("activation").empty() && node.input(3) == nullptr && node.input(4) == nullptr,
             "a fused convolution");
  const bool transposed = node.op_name() == op::kConvTranspose;
  std::vector<AttributeProto> attributes =
      window_attributes(read_window(node.attrs(), spatial_dims(node.input(1)->shape())), true);
  attributes.push_back(integer_attribute("group", node.attrs().integer("groups")));
  const std::vector<int64_t> extra = node.attrs().integers("output_padding");
  if (transposed && !extra.empty()) attributes.push_back(integers_attribute("output_padding", extra));
  exporter.emit(node.output(), transposed ? "ConvTranspose" : "Conv",
                {exporter.name(node.input(0)), exporter.name(node.input(1)), exporter.name(node.input(2))}, attributes);
}

bool has_equal_windows(const Shape& x, const std::vector<int64_t>& out) {
  for (size_t d = 0; d < out.size(); ++d) {
    const int64_t in = x[static_cast<int>(d) + 2];
    if (in == kFree || in % out[d] != 0) return false;
  }
  return true;
}

/// The elements of each window of an adaptive pool along one dimension, [out, widest]; narrower ones repeat their last.
struct Windows {
  Tensor places, shares;  ///< shares: what each place counts for in the mean
};

Windows windows_of(int64_t in, int64_t out) {
  const auto begin = [&](int64_t i) { return i * in / out; };
  const auto end = [&](int64_t i) { return ((i + 1) * in + out - 1) / out; };
  int64_t widest = 0;
  for (int64_t i = 0; i < out; ++i) widest = std::max(widest, end(i) - begin(i));
  Windows windows{Tensor(DType::kI64, {out, widest}), Tensor(DType::kF32, {out, widest})};
  for (int64_t i = 0; i < out; ++i) {
    for (int64_t k = 0; k < widest; ++k) {
      const int64_t place = begin(i) + k;
      windows.places.data<int64_t>()[i * widest + k] = std::min(place, end(i) - 1);
      windows.shares.data<float>()[i * widest + k] =
          place < end(i) ? 1.0F / static_cast<float>(end(i) - begin(i)) : 0.0F;
    }
  }
  return windows;
}

/// A pool whose windows differ in size, one dimension after the other: the elements of each window become a dimension.
void write_uneven_pool(Exporter& exporter, const Node& node, const std::vector<int64_t>& out, bool maximum) {
  const Value* x = node.input(0);
  std::string pooled = exporter.name(x);
  for (size_t d = 0; d < out.size(); ++d) {
    const int64_t axis = static_cast<int64_t>(d) + 2, in = x->shape()[static_cast<int>(axis)];
    TW_REQUIRE(in != kFree, "windows of different sizes along a free dimension");
    TW_REQUIRE(x->dtype() == DType::kF32, "windows of different sizes of ", name_of(x->dtype()));
    Windows windows = windows_of(in, out[d]);
    pooled = exporter.emit("Gather", {pooled, exporter.constant(windows.places)}, {integer_attribute("axis", axis)});
    if (!maximum) {
      // Broadcast to what follows the window.
      const Shape shares = windows.shares.shape();
      std::vector<int64_t> extents{shares[0], shares[1]};
      extents.resize(2 + out.size() - d - 1, 1);
      const std::string factors =
          exporter.emit("Reshape", {exporter.constant(windows.shares), exporter.integers(extents)});
      pooled = exporter.emit("Mul", {pooled, factors});
    }
    const std::vector<std::string> reduced{pooled, exporter.integers({axis + 1})};
    const std::vector<AttributeProto> dropped{integer_attribute("keepdims", 0)};
    const char* const reduction = maximum ? "ReduceMax" : "ReduceSum";
    if (d + 1 == out.size()) return exporter.emit(node.output(), reduction, reduced, dropped);
    pooled = exporter.emit(reduction, reduced, dropped);
  }
}

/// A pool to a given output size, as a pool with equal windows.
Window equal_windows(const Node& node, const std::vector<int64_t>& out) {
  Window window;
  for (size_t d = 0; d < out.size(); ++d) {
    const int64_t in = node.input(0)->shape()[static_cast<int>(d) + 2];
    window.kernel.push_back(in / out[d]);
  }
  window.strides = window.kernel;
  window.begins.assign(out.size(), 0);
  window.ends = window.begins;
  window.dilations.assign(out.size(), 1);
  return window;
}

void write_pool(Exporter& exporter, const Node& node) {
  const bool maximum = node.op_name() == op::kMaxPool;
  const std::string x = exporter.name(node.input(0));
  const std::vector<int64_t> size = node.attrs().integers("output_size");
  if (!size.empty() && std::all_of(size.begin(), size.end(), [](int64_t extent) { return extent == 1; })) {
    return exporter.emit(node.output(), maximum ? "GlobalMaxPool" : "GlobalAveragePool", {x});
  }
  if (!size.empty() && !has_equal_windows(node.input(0)->shape(), size)) {
    return write_uneven_pool(exporter, node, size, maximum);
  }
  const Window window =
      size.empty() ? read_window(node.attrs(), node.attrs().integers("kernel")) : equal_windows(node, size);
  std::vector<AttributeProto> attributes = window_attributes(window, maximum);
  attributes.push_back(integer_attribute("ceil_mode", node.attrs().integer("ceil_mode")));
  if (!maximum) {
    attributes.push_back(integer_attribute("count_include_pad", node.attrs().integer("count_include_pad")));
  }
  exporter.emit(node.output(), maximum ? "MaxPool" : "AveragePool", {x}, attributes);
}

void write_interpolate(Exporter& exporter, const Node& node) {
  const std::vector<int64_t> size = node.attrs().integers("output_size");
  std::vector<int64_t> axes;
  for (size_t d = 0; d < size.size(); ++d) axes.push_back(static_cast<int64_t>(d) + 2);
  exporter.emit(node.output(), "Resize", {exporter.name(node.input(0)), "", "", exporter.integers(size)},
                {text_attribute("mode", node.attrs().text("mode")),
                 text_attribute("coordinate_transformation_mode", node.attrs().text("coordinates")),
                 text_attribute("nearest_mode", "floor"), integers_attribute("axes", axes)});
}

void write_grid_sample(Exporter& exporter, const Node& node) {
  exporter.emit(node.output(), "GridSample", {exporter.name(node.input(0)), exporter.name(node.input(1))},
                {text_attribute("mode", node.attrs().text("mode")),
                 text_attribute("padding_mode", node.attrs().text("padding_mode")),
                 integer_attribute("align_corners", node.attrs().integer("align_corners"))});
}

const RegisterWriters kWriters({
    {op::kConv, write_conv},
    {op::kConvTranspose, write_conv},
    {op::kMaxPool, write_pool},
    {op::kAvgPool, write_pool},
    {op::kInterpolate, write_interpolate},
    {op::kGridSample, write_grid_sample},
});

}  // namespace
}  // namespace thalweg::onnx

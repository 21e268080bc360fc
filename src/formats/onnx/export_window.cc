// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Convolutions, pools and what else looks at neighbourhoods.
#include <algorithm>

#include "formats/onnx/exporter.h"
#include "ops/ids.h"
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

/// A pool to a given output size, as a pool with equal windows.
Window equal_windows(const Node& node, const std::vector<int64_t>& out) {
  Window window;
  for (size_t d = 0; d < out.size(); ++d) {
    const int64_t in = node.input(0)->shape()[static_cast<int>(d) + 2];
    TW_REQUIRE(in != kFree && in % out[d] == 0, "windows of different sizes, to make ", out[d], " of ", in,
               " elements");
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

const RegisterWriters kWriters({
    {op::kConv, write_conv},
    {op::kConvTranspose, write_conv},
    {op::kMaxPool, write_pool},
    {op::kAvgPool, write_pool},
    {op::kInterpolate, write_interpolate},
});

}  // namespace
}  // namespace thalweg::onnx

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "modules.h"
#include "thalweg/nn.h"

namespace thalweg::python {
namespace {

using nn::Size;

template <typename Layer>
void def_conv(nb::module_& m, const char* name) {
  const nn::ConvOptions usual;
  def_layer(
      m, name,
      [](int64_t in_channels, int64_t out_channels, Size kernel_size, Size stride, Size padding, Size dilation,
         int64_t groups, bool bias, std::string padding_mode) {
        return Layer(in_channels, out_channels, kernel_size, {stride, padding, dilation, groups, bias, padding_mode});
      },
      "in_channels"_a, "out_channels"_a, "kernel_size"_a, "stride"_a = usual.stride, "padding"_a = usual.padding,
      "dilation"_a = usual.dilation, "groups"_a = usual.groups, "bias"_a = usual.bias,
      "padding_mode"_a = usual.padding_mode);
}

template <typename Layer>
void def_conv_transpose(nb::module_& m, const char* name) {
  const nn::ConvTransposeOptions usual;
  def_layer(
      m, name,
      [](int64_t in_channels, int64_t out_channels, Size kernel_size, Size stride, Size padding, Size output_padding,
         int64_t groups, bool bias, Size dilation) {
        return Layer(in_channels, out_channels, kernel_size, {stride, padding, output_padding, dilation, groups, bias});
      },
      "in_channels"_a, "out_channels"_a, "kernel_size"_a, "stride"_a = usual.stride, "padding"_a = usual.padding,
      "output_padding"_a = usual.output_padding, "groups"_a = usual.groups, "bias"_a = usual.bias,
      "dilation"_a = usual.dilation);
}

void def_separable_conv(nb::module_& m) {
  const nn::ConvOptions usual;
  def_layer(
      m, "SeparableConv2d",
      [](int64_t in_channels, int64_t out_channels, Size kernel_size, Size stride, Size padding, Size dilation,
         bool bias, std::optional<int64_t> multiplier) {
        nn::ConvOptions options;
        options.stride = stride;
        options.padding = padding;
        options.dilation = dilation;
        options.bias = bias;
        return multiplier ? nn::SeparableConv2d(in_channels, out_channels, kernel_size, options, *multiplier)
                          : nn::SeparableConv2d(in_channels, out_channels, kernel_size, options);
      },
      "in_channels"_a, "out_channels"_a, "kernel_size"_a, "stride"_a = usual.stride, "padding"_a = usual.padding,
      "dilation"_a = usual.dilation, "bias"_a = usual.bias, "multiplier"_a = nb::none());
}

template <typename Layer>
void def_max_pool(nb::module_& m, const char* name) {
  const nn::MaxPoolOptions usual;
  def_layer(
      m, name,
      [](Size kernel_size, std::optional<Size> stride, Size padding, Size dilation, bool ceil_mode) {
        return Layer(kernel_size, {stride, padding, dilation, ceil_mode});
      },
      "kernel_size"_a, "stride"_a = nb::none(), "padding"_a = usual.padding, "dilation"_a = usual.dilation,
      nb::kw_only(), "ceil_mode"_a = usual.ceil_mode);
}

template <typename Layer>
void def_avg_pool(nb::module_& m, const char* name) {
  const nn::AvgPoolOptions usual;
  def_layer(
      m, name,
      [](Size kernel_size, std::optional<Size> stride, Size padding, bool ceil_mode, bool count_include_pad) {
        return Layer(kernel_size, {stride, padding, ceil_mode, count_include_pad});
      },
      "kernel_size"_a, "stride"_a = nb::none(), "padding"_a = usual.padding, "ceil_mode"_a = usual.ceil_mode,
      "count_include_pad"_a = usual.count_include_pad);
}

template <typename Layer>
void def_adaptive_pool(nb::module_& m, const char* name) {
  def_layer(
      m, name, [](Size output_size) { return Layer(output_size); }, "output_size"_a);
}

void def_upsample(nb::module_& m) {
  const nn::UpsampleOptions usual;
  def_layer(
      m, "Upsample",
      [](std::optional<Size> size, std::optional<Size> scale_factor, std::string mode, bool align_corners) {
        return nn::Upsample({size, scale_factor, mode, align_corners});
      },
      "size"_a = nb::none(), "scale_factor"_a = nb::none(), "mode"_a = usual.mode,
      "align_corners"_a = usual.align_corners);
}

/// The paddings of PyTorch that differ in how the border is filled: one number for all sides, or (left, right, ...).
template <int kRank>
void def_pads(nb::module_& m) {
  static const auto sides = +[](const Size& padding) {
    const std::vector<int64_t>& given = padding.values();
    return given.size() == 1 ? std::vector<int64_t>(size_t{2} * kRank, given.front()) : given;
  };
  const std::string rank = std::to_string(kRank) + "d";
  def_layer(
      m, ("ReflectionPad" + rank).c_str(), [](Size padding) { return nn::Pad(sides(padding), "reflect"); },
      "padding"_a);
  def_layer(
      m, ("ReplicationPad" + rank).c_str(), [](Size padding) { return nn::Pad(sides(padding), "replicate"); },
      "padding"_a);
  def_layer(
      m, ("ConstantPad" + rank).c_str(),
      [](Size padding, double value) { return nn::Pad(sides(padding), "constant", value); }, "padding"_a, "value"_a);
  def_layer(
      m, ("ZeroPad" + rank).c_str(), [](Size padding) { return nn::Pad(sides(padding)); }, "padding"_a);
}

}  // namespace

void bind_convolutions(nb::module_& m) {
  def_conv<nn::Conv1d>(m, "Conv1d");
  def_conv<nn::Conv2d>(m, "Conv2d");
  def_conv<nn::Conv3d>(m, "Conv3d");
  def_conv_transpose<nn::ConvTranspose1d>(m, "ConvTranspose1d");
  def_conv_transpose<nn::ConvTranspose2d>(m, "ConvTranspose2d");
  def_conv_transpose<nn::ConvTranspose3d>(m, "ConvTranspose3d");
  def_separable_conv(m);
  def_max_pool<nn::MaxPool1d>(m, "MaxPool1d");
  def_max_pool<nn::MaxPool2d>(m, "MaxPool2d");
  def_max_pool<nn::MaxPool3d>(m, "MaxPool3d");
  def_avg_pool<nn::AvgPool1d>(m, "AvgPool1d");
  def_avg_pool<nn::AvgPool2d>(m, "AvgPool2d");
  def_avg_pool<nn::AvgPool3d>(m, "AvgPool3d");
  def_adaptive_pool<nn::AdaptiveAvgPool1d>(m, "AdaptiveAvgPool1d");
  def_adaptive_pool<nn::AdaptiveAvgPool2d>(m, "AdaptiveAvgPool2d");
  def_adaptive_pool<nn::AdaptiveAvgPool3d>(m, "AdaptiveAvgPool3d");
  def_adaptive_pool<nn::AdaptiveMaxPool1d>(m, "AdaptiveMaxPool1d");
  def_adaptive_pool<nn::AdaptiveMaxPool2d>(m, "AdaptiveMaxPool2d");
  def_adaptive_pool<nn::AdaptiveMaxPool3d>(m, "AdaptiveMaxPool3d");
  def_upsample(m);
  def_pads<1>(m);
  def_pads<2>(m);
  def_pads<3>(m);
}

}  // namespace thalweg::python

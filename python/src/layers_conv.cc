// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "modules.h"
#include "thalweg/nn.h"

namespace thalweg::python {
namespace {

using nn::Size;

/// Numbers, "same" or "valid".
using Padding = std::variant<std::string, Size>;

nn::ConvOptions with_padding(nn::ConvOptions options, const Padding& padding) {
  if (const auto* sizes = std::get_if<Size>(&padding)) {
    options.padding = *sizes;
    return options;
  }
  const std::string& name = std::get<std::string>(padding);
  if (name != "same" && name != "valid") raise_input_error("padding is '", name, "', not a number, same or valid");
  options.same_padding = name == "same";
  return options;
}

template <typename Layer>
void def_conv(nb::module_& m, const char* name, const char* doc) {
  const nn::ConvOptions usual;
  def_layer(
      m, name, doc,
      [](int64_t in_channels, int64_t out_channels, Size kernel_size, Size stride, Padding padding, Size dilation,
         int64_t groups, bool bias, std::string padding_mode) {
        return Layer(in_channels, out_channels, kernel_size,
                     with_padding({stride, 0, dilation, groups, bias, padding_mode}, padding));
      },
      "in_channels"_a, "out_channels"_a, "kernel_size"_a, "stride"_a = usual.stride,
      "padding"_a = Padding(usual.padding), "dilation"_a = usual.dilation, "groups"_a = usual.groups,
      "bias"_a = usual.bias, "padding_mode"_a = usual.padding_mode);
}

template <typename Layer>
void def_conv_transpose(nb::module_& m, const char* name, const char* doc) {
  const nn::ConvTransposeOptions usual;
  def_layer(
      m, name, doc,
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
      m, "SeparableConv2d", "A convolution of each channel by itself, then one of 1 x 1 over all channels.",
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
void def_max_pool(nb::module_& m, const char* name, const char* doc) {
  const nn::MaxPoolOptions usual;
  def_layer(
      m, name, doc,
      [](Size kernel_size, std::optional<Size> stride, Size padding, Size dilation, bool ceil_mode) {
        return Layer(kernel_size, {stride, padding, dilation, ceil_mode});
      },
      "kernel_size"_a, "stride"_a = nb::none(), "padding"_a = usual.padding, "dilation"_a = usual.dilation,
      nb::kw_only(), "ceil_mode"_a = usual.ceil_mode);
}

template <typename Layer>
void def_avg_pool(nb::module_& m, const char* name, const char* doc) {
  const nn::AvgPoolOptions usual;
  def_layer(
      m, name, doc,
      [](Size kernel_size, std::optional<Size> stride, Size padding, bool ceil_mode, bool count_include_pad) {
        return Layer(kernel_size, {stride, padding, ceil_mode, count_include_pad});
      },
      "kernel_size"_a, "stride"_a = nb::none(), "padding"_a = usual.padding, "ceil_mode"_a = usual.ceil_mode,
      "count_include_pad"_a = usual.count_include_pad);
}

template <typename Layer>
void def_adaptive_pool(nb::module_& m, const char* name, const char* doc) {
  def_layer(
      m, name, doc, [](Size output_size) { return Layer(output_size); }, "output_size"_a);
}

void def_upsample(nb::module_& m) {
  const nn::UpsampleOptions usual;
  def_layer(
      m, "Upsample", "To a size or by a factor; mode is nearest, linear, bilinear, bicubic or trilinear.",
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
      m, ("ReflectionPad" + rank).c_str(), "Widens by what lies inside, mirrored at the border.",
      [](Size padding) { return nn::Pad(sides(padding), "reflect"); }, "padding"_a);
  def_layer(
      m, ("ReplicationPad" + rank).c_str(), "Widens by copies of the border.",
      [](Size padding) { return nn::Pad(sides(padding), "replicate"); }, "padding"_a);
  def_layer(
      m, ("ConstantPad" + rank).c_str(), "Widens by a number.",
      [](Size padding, double value) { return nn::Pad(sides(padding), "constant", value); }, "padding"_a, "value"_a);
  def_layer(
      m, ("ZeroPad" + rank).c_str(), "Widens by zeros.", [](Size padding) { return nn::Pad(sides(padding)); },
      "padding"_a);
}

}  // namespace

void bind_convolutions(nb::module_& m) {
  def_conv<nn::Conv1d>(m, "Conv1d",
                       "A convolution of [N, C, L]; padding is a number for each side, \"same\" or \"valid\".");
  def_conv<nn::Conv2d>(m, "Conv2d",
                       R"(A convolution of [N, C, H, W]; padding is a number for each side, "same" or "valid".

>>> import thalweg
>>> net = thalweg.nn.Conv2d(3, 8, kernel_size=3, padding="same")
>>> thalweg.Model(net, [thalweg.Input((None, 3, 32, 32))]).graph.outputs[0].shape
(None, 8, 32, 32))");
  def_conv<nn::Conv3d>(m, "Conv3d",
                       "A convolution of [N, C, D, H, W]; padding is a number for each side, \"same\" or \"valid\".");
  def_conv_transpose<nn::ConvTranspose1d>(
      m, "ConvTranspose1d", "The gradient of a convolution by its input, as a layer of its own: of [N, C, L].");
  def_conv_transpose<nn::ConvTranspose2d>(
      m, "ConvTranspose2d", "The gradient of a convolution by its input, as a layer of its own: of [N, C, H, W].");
  def_conv_transpose<nn::ConvTranspose3d>(
      m, "ConvTranspose3d", "The gradient of a convolution by its input, as a layer of its own: of [N, C, D, H, W].");
  def_separable_conv(m);
  def_max_pool<nn::MaxPool1d>(m, "MaxPool1d", "The greatest number in each window of [N, C, L].");
  def_max_pool<nn::MaxPool2d>(m, "MaxPool2d", "The greatest number in each window of [N, C, H, W].");
  def_max_pool<nn::MaxPool3d>(m, "MaxPool3d", "The greatest number in each window of [N, C, D, H, W].");
  def_avg_pool<nn::AvgPool1d>(m, "AvgPool1d", "The mean of each window of [N, C, L].");
  def_avg_pool<nn::AvgPool2d>(m, "AvgPool2d", "The mean of each window of [N, C, H, W].");
  def_avg_pool<nn::AvgPool3d>(m, "AvgPool3d", "The mean of each window of [N, C, D, H, W].");
  def_adaptive_pool<nn::AdaptiveAvgPool1d>(m, "AdaptiveAvgPool1d",
                                           "The means of as many equal windows of [N, C, L] as output_size says.");
  def_adaptive_pool<nn::AdaptiveAvgPool2d>(m, "AdaptiveAvgPool2d",
                                           "The means of as many equal windows of [N, C, H, W] as output_size says.");
  def_adaptive_pool<nn::AdaptiveAvgPool3d>(
      m, "AdaptiveAvgPool3d", "The means of as many equal windows of [N, C, D, H, W] as output_size says.");
  def_adaptive_pool<nn::AdaptiveMaxPool1d>(
      m, "AdaptiveMaxPool1d", "The greatest numbers in as many equal windows of [N, C, L] as output_size says.");
  def_adaptive_pool<nn::AdaptiveMaxPool2d>(
      m, "AdaptiveMaxPool2d", "The greatest numbers in as many equal windows of [N, C, H, W] as output_size says.");
  def_adaptive_pool<nn::AdaptiveMaxPool3d>(
      m, "AdaptiveMaxPool3d", "The greatest numbers in as many equal windows of [N, C, D, H, W] as output_size says.");
  def_upsample(m);
  def_pads<1>(m);
  def_pads<2>(m);
  def_pads<3>(m);
}

}  // namespace thalweg::python

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/nn/conv.h"

#include "nn/layers/defaults.h"
#include "thalweg/nn/reshape.h"
#include "thalweg/ops/conv.h"

namespace thalweg::nn {
namespace {

void check_input(const Scope& scope, const char* layer, const Value* x, int rank, int64_t channels, int64_t groups) {
  const Shape& shape = x->shape();
  scope.require(shape.rank() == rank + 2, layer, "takes [N, C",
                rank == 1   ? ", L]"
                : rank == 2 ? ", H, W]"
                            : ", D, H, W]",
                ", got ", shape);
  scope.require(shape[1] == channels || shape[1] == kFree, layer, "input has ", shape[1], " channel",
                shape[1] == 1 ? "" : "s", ", weight expects ", channels);
  scope.require(groups >= 1 && channels % groups == 0, layer, channels, " input channels cannot be cut into ", groups,
                " groups");
}

Shape weight_shape(int64_t outer, int64_t inner, const std::vector<int64_t>& kernel) {
  std::vector<int64_t> dims{outer, inner};
  dims.insert(dims.end(), kernel.begin(), kernel.end());
  return Shape(dims);
}

/// How much to pad: all begins, then all ends.
std::vector<int64_t> pads_of(const Scope& scope, const ConvOptions& options, const std::vector<int64_t>& kernel) {
  const auto rank = static_cast<int>(kernel.size());
  if (!options.same_padding) {
    std::vector<int64_t> pads = options.padding.expand(rank, "padding");
    pads.insert(pads.end(), pads.begin(), pads.begin() + rank);
    return pads;
  }
  const std::vector<int64_t> strides = options.stride.expand(rank, "stride");
  const std::vector<int64_t> dilations = options.dilation.expand(rank, "dilation");
  std::vector<int64_t> begins, ends;
  for (size_t i = 0; i < kernel.size(); ++i) {
    scope.require(strides[i] == 1, "Conv", "padding 'same' needs stride 1, got ", strides[i]);
    const int64_t total = dilations[i] * (kernel[i] - 1);
    begins.push_back(total / 2);
    ends.push_back(total - total / 2);
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  return begins;
}

/// Pads by itself where zeros are not wanted; returns what is left for the convolution to pad.
std::vector<int64_t> pad_by_mode(const Scope& scope, const std::string& mode, std::vector<int64_t> pads, Value*& x) {
  if (mode == "zeros") return pads;
  scope.require(mode == "reflect" || mode == "replicate", "Conv", "padding_mode is '", mode,
                "', not zeros, reflect or replicate");
  const size_t rank = pads.size() / 2;
  std::vector<int64_t> last_first;
  for (size_t i = rank; i-- > 0;) last_first.insert(last_first.end(), {pads[i], pads[rank + i]});
  x = Pad(last_first, mode).forward(scope, x);
  return std::vector<int64_t>(pads.size(), 0);
}

}  // namespace

template <int Rank>
Value* Conv<Rank>::forward(const Scope& scope, Value* x) const {
  check_input(scope, "Conv", x, Rank, in_, options_.groups);
  scope.require(out_ % options_.groups == 0, "Conv", out_, " output channels cannot be cut into ", options_.groups,
                " groups");
  const std::vector<int64_t> kernel = kernel_.expand(Rank, "kernel_size");
  const Shape shape = weight_shape(out_, in_ / options_.groups, kernel);
  Value* weight = scope.parameter("weight", shape, weight_init_or_default(options_.weight_init));
  Value* bias = nullptr;
  if (options_.bias) bias = scope.parameter("bias", {out_}, bias_init_or_default(options_.bias_init, shape));
  ops::ConvOptions conv;
  conv.strides = options_.stride.expand(Rank, "stride");
  conv.dilations = options_.dilation.expand(Rank, "dilation");
  conv.groups = options_.groups;
  conv.pads = pad_by_mode(scope, options_.padding_mode, pads_of(scope, options_, kernel), x);
  return ops::conv(x, weight, bias, conv, scope.path());
}

template <int Rank>
Value* ConvTranspose<Rank>::forward(const Scope& scope, Value* x) const {
  check_input(scope, "ConvTranspose", x, Rank, in_, options_.groups);
  const Shape shape = weight_shape(in_, out_ / options_.groups, kernel_.expand(Rank, "kernel_size"));
  Value* weight = scope.parameter("weight", shape, weight_init_or_default(options_.weight_init));
  Value* bias = nullptr;
  if (options_.bias) bias = scope.parameter("bias", {out_}, bias_init_or_default(options_.bias_init, shape));
  ops::ConvTransposeOptions conv;
  conv.strides = options_.stride.expand(Rank, "stride");
  conv.pads = options_.padding.expand(Rank, "padding");
  conv.output_padding = options_.output_padding.expand(Rank, "output_padding");
  conv.dilations = options_.dilation.expand(Rank, "dilation");
  conv.groups = options_.groups;
  return ops::conv_transpose(x, weight, bias, conv, scope.path());
}

template class Conv<1>;
template class Conv<2>;
template class Conv<3>;
template class ConvTranspose<1>;
template class ConvTranspose<2>;
template class ConvTranspose<3>;

Value* SeparableConv2d::forward(const Scope& scope, Value* x) const {
  ConvOptions depthwise = options_;
  depthwise.groups = in_;
  depthwise.bias = false;
  const int64_t middle = in_ * multiplier_;
  x = Conv2d(in_, middle, kernel_, depthwise).forward(scope.sub("depthwise"), x);
  return Conv2d(middle, out_, 1, {.bias = options_.bias}).forward(scope.sub("pointwise"), x);
}

}  // namespace thalweg::nn

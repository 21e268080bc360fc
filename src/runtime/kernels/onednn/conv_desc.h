// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include "ops/conv_geometry.h"
#include "runtime/kernels/onednn/onednn_kernel.h"

namespace thalweg {

/// Descriptors of the operands of the convolution y = conv(x, w); `any` unless one is to be taken as it lies.
struct ConvDescs {
  dnnl::memory::desc x, w, y, bias;
};

/// A convolution in oneDNN's terms.
struct ConvProblem {
  ConvGeometry geometry;
  dnnl::memory::dims strides, dilates, begins, ends;
  /// As oneDNN wants them: [O, I, ...], or [groups, O/groups, I, ...].
  dnnl::memory::dims weights;

  explicit ConvProblem(ConvGeometry conv);
  /// Every kernel extent is 1.
  bool pointwise() const;
  ConvDescs any(DType x, DType w, DType y) const;
  /// The forward primitive that gradients take as a hint, and whose layouts they try to keep.
  dnnl::convolution_forward::primitive_desc forward(const ConvDescs& descs, const dnnl::primitive_attr& attr,
                                                    dnnl::prop_kind kind) const;
};

/// One operand whose layout is known already: `argument` in the primitive, `member` of ConvDescs, and how it lies.
struct GivenDesc {
  int argument = 0;
  dnnl::memory::desc ConvDescs::*member = nullptr;
  dnnl::memory::desc md;
};

/// False for oneDNN's plain loops and its detours over matrix multiplication of unfolded images.
bool is_fast_implementation(const char* name);

/// Makes a primitive descriptor with `make(descs)`, then takes each given operand as it lies if that does not change
/// the implementation, or if the kernel is `pointwise` and the other implementation fast as well. Left to itself oneDNN
/// takes channels last for strided data gradients. On ResNet-50 (batch 16, f32) that pays for the reorders of its
/// operands with 3x3 kernels (17.6, 17.1, 22.3 ms against 22.5, 22.8, 23.5 blocked), and not with 1x1 (26.2, 20.7, 24.7
/// against 15.5, 12.5, 13.5).
template <typename Make>
auto settle_layouts(const Make& make, ConvDescs descs, const std::vector<GivenDesc>& given, bool pointwise) {
  auto pd = make(descs);
  if (!pd) return pd;
  for (const GivenDesc& operand : given) {
    if (pd.query_md(dnnl::query::exec_arg_md, operand.argument) == operand.md) continue;
    ConvDescs tried = descs;
    tried.*operand.member = operand.md;
    auto other = make(tried);
    if (!other) continue;
    const bool same = std::strcmp(other.impl_info_str(), pd.impl_info_str()) == 0;
    if (!same && !(pointwise && is_fast_implementation(other.impl_info_str()))) continue;
    pd = std::move(other);
    descs = tried;
  }
  return pd;
}

/// Null, with the reason, unless oneDNN computes convolutions on these operands.
bool onednn_conv_possible(const KernelRequest& request, std::string& declined);

/// For settle_layouts: nothing if the operand's layout does not matter (fixed weights) or has yet to be chosen (plain
/// weights may be a parameter that adopts what we ask for).
void give_weights(const KernelRequest& request, size_t index, std::vector<GivenDesc>& given);

}  // namespace thalweg

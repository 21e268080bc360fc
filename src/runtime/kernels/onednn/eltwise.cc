// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/onednn/eltwise.h"

#include <map>

#include "ops/fused_activation.h"
#include "ops/ids.h"

namespace thalweg {
namespace {

using dnnl::algorithm;

/// A function in oneDNN's terms: where it has arguments that are fixed for us, those.
struct Eltwise {
  algorithm kind = algorithm::undef;
  bool own_arguments = false;
  float alpha = 0.0F, beta = 0.0F;
};

const std::map<std::string, Eltwise>& eltwise_functions() {
  static const std::map<std::string, Eltwise> table = {
      {op::kRelu, {algorithm::eltwise_relu}},
      {op::kLeakyRelu, {algorithm::eltwise_relu, true}},
      {op::kClip, {algorithm::eltwise_clip, true}},
      {op::kElu, {algorithm::eltwise_elu, true}},
      {op::kGelu, {algorithm::eltwise_gelu_erf}},
      {op::kGeluTanh, {algorithm::eltwise_gelu_tanh}},
      {op::kSilu, {algorithm::eltwise_swish, false, 1.0F}},
      {op::kMish, {algorithm::eltwise_mish}},
      {op::kTanh, {algorithm::eltwise_tanh}},
      {op::kSigmoid, {algorithm::eltwise_logistic}},
      {op::kHardSwish, {algorithm::eltwise_hardswish, false, 1.0F / 6.0F, 0.5F}},
      {op::kHardSigmoid, {algorithm::eltwise_hardsigmoid, true}}};
  return table;
}

}  // namespace

void append_activation(const Attributes& attrs, dnnl::post_ops& after) {
  const UnaryCallee callee = fused_activation(attrs);
  if (callee.function != nullptr) {
    const Eltwise& eltwise = eltwise_functions().at(callee.function->name);
    after.append_eltwise(eltwise.kind, eltwise.own_arguments ? static_cast<float>(callee.a) : eltwise.alpha,
                         eltwise.own_arguments ? static_cast<float>(callee.b) : eltwise.beta);
  }
  const FusedAffine affine = fused_affine(attrs);
  if (!affine.present()) return;
  after.append_eltwise(algorithm::eltwise_linear, static_cast<float>(affine.scale), static_cast<float>(affine.shift));
}

}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/onednn/conv_desc.h"

#include <algorithm>
#include <string_view>

namespace thalweg {

using dnnl::memory;

ConvProblem::ConvProblem(ConvGeometry conv) : geometry(std::move(conv)) {
  const Window& window = geometry.window;
  strides = window.strides;
  begins = window.begins;
  ends = window.ends;
  for (int64_t dilation : window.dilations) dilates.push_back(dilation - 1);
  weights = geometry.w.dims();
  if (geometry.groups > 1) {
    weights[0] /= geometry.groups;
    weights.insert(weights.begin(), geometry.groups);
  }
}

bool ConvProblem::pointwise() const {
  const std::vector<int64_t>& kernel = geometry.window.kernel;
  return std::all_of(kernel.begin(), kernel.end(), [](int64_t extent) { return extent == 1; });
}

ConvDescs ConvProblem::any(DType x, DType w, DType y) const {
  ConvDescs descs;
  descs.x = any_layout({x, geometry.x});
  descs.y = any_layout({y, geometry.y});
  descs.w = memory::desc(weights, to_dnnl(w), memory::format_tag::any);
  return descs;
}

dnnl::convolution_forward::primitive_desc ConvProblem::forward(const ConvDescs& descs, const dnnl::primitive_attr& attr,
                                                               dnnl::prop_kind kind) const {
  return {dnnl_engine(), kind,    dnnl::algorithm::convolution_direct,
          descs.x,       descs.w, descs.bias,
          descs.y,       strides, dilates,
          begins,        ends,    attr,
          true};
}

bool is_fast_implementation(const char* name) {
  const std::string_view text = name;
  return text.starts_with("jit") || text.starts_with("brg");
}

bool onednn_conv_possible(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (has_empty_operand(node)) {
    declined = "an operand has no elements";
    return false;
  }
  for (const Value* input : node.inputs()) {
    if (input == nullptr || (known_to_dnnl(input->dtype()) && is_floating(input->dtype()))) continue;
    declined = std::string("element type ") + name_of(input->dtype());
    return false;
  }
  return true;
}

void give_weights(const KernelRequest& request, size_t index, std::vector<GivenDesc>& given) {
  if (request.input_is_fixed[index] || request.inputs[index].is_plain()) return;
  given.push_back({DNNL_ARG_WEIGHTS, &ConvDescs::w, request.inputs[index].desc()});
}

}  // namespace thalweg

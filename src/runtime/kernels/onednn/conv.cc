// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "ops/ids.h"
#include "runtime/kernels/onednn/conv_desc.h"
#include "runtime/kernels/onednn/eltwise.h"

namespace thalweg {
namespace {

using dnnl::prop_kind;

std::unique_ptr<OneDnnKernel> no_implementation(std::string& declined) {
  declined = "no implementation for these shapes and element types";
  return nullptr;
}

constexpr int kResidualArgument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1;

/// The argument of the slopes: they follow the residual, if there is one.
int slope_argument(const Node& node) {
  return DNNL_ARG_ATTR_MULTIPLE_POST_OP(node.input(3) != nullptr ? 1 : 0) | DNNL_ARG_WEIGHTS;
}

dnnl::primitive_attr forward_attr(const Node& node) {
  constexpr int kByChannel = 1 << 1;
  dnnl::primitive_attr attr = onednn_attr();
  dnnl::post_ops after;
  if (node.input(3) != nullptr) after.append_binary(dnnl::algorithm::binary_add, any_layout(node.output()->type()));
  if (node.input(4) != nullptr) after.append_prelu(kByChannel);
  append_activation(node.attrs(), after);
  attr.set_post_ops(after);
  return attr;
}

std::unique_ptr<Kernel> make_conv(const KernelRequest& request, std::string& declined) {
  if (!onednn_conv_possible(request, declined)) return nullptr;
  const Node& node = request.node;
  const ConvProblem problem(conv_geometry(node));
  const DType dtype = node.input(0)->dtype();
  ConvDescs descs = problem.any(dtype, dtype, dtype);
  if (node.input(2) != nullptr) descs.bias = Layout(node.input(2)->type()).desc();
  const dnnl::primitive_attr attr = forward_attr(node);
  std::vector<GivenDesc> given{{DNNL_ARG_SRC, &ConvDescs::x, request.inputs[0].desc()}};
  give_weights(request, 1, given);
  const auto pd =
      settle_layouts([&](const ConvDescs& d) { return problem.forward(d, attr, prop_kind::forward_training); }, descs,
                     given, problem.pointwise());
  if (!pd) return no_implementation(declined);
  auto kernel = std::make_unique<OneDnnKernel>();
  kernel->set_primitive(dnnl::convolution_forward(pd), pd.impl_info_str());
  kernel->bind_input(DNNL_ARG_SRC, 0, Layout(node.input(0)->type(), pd.src_desc()));
  kernel->bind_input(DNNL_ARG_WEIGHTS, 1, Layout(node.input(1)->type(), pd.weights_desc()), pd.weights_desc());
  if (node.input(2) != nullptr) kernel->bind_input(DNNL_ARG_BIAS, 2, Layout(node.input(2)->type()));
  if (node.input(3) != nullptr) {
    const auto md = pd.query_md(dnnl::query::exec_arg_md, kResidualArgument);
    kernel->bind_input(kResidualArgument, 3, Layout(node.input(3)->type(), md));
  }
  if (node.input(4) != nullptr) {
    kernel->bind_input(slope_argument(node), 4, Layout(node.input(4)->type()), f32_vector(node.output()->shape()[1]));
  }
  // An absent input between those that are there.
  kernel->inputs.resize(node.inputs().size());
  kernel->bind_output(DNNL_ARG_DST, 0, Layout(node.output()->type(), pd.dst_desc()));
  kernel->use_scratchpad(pd.scratchpad_desc());
  return kernel;
}

std::unique_ptr<Kernel> make_grad_data(const KernelRequest& request, std::string& declined) {
  if (!onednn_conv_possible(request, declined)) return nullptr;
  const Node& node = request.node;
  const ConvProblem problem(conv_geometry(node));
  const DType dtype = node.input(0)->dtype();
  const ConvDescs any = problem.any(dtype, dtype, dtype);
  const auto hint = problem.forward(any, onednn_attr(), prop_kind::forward_training);
  if (!hint) return no_implementation(declined);
  std::vector<GivenDesc> given{{DNNL_ARG_DIFF_DST, &ConvDescs::y, request.inputs[0].desc()}};
  give_weights(request, 1, given);
  const auto make = [&](const ConvDescs& d) {
    return dnnl::convolution_backward_data::primitive_desc(dnnl_engine(), dnnl::algorithm::convolution_direct, d.x, d.w,
                                                           d.y, problem.strides, problem.dilates, problem.begins,
                                                           problem.ends, hint, onednn_attr(), true);
  };
  const auto pd = settle_layouts(make, any, given, problem.pointwise());
  if (!pd) return no_implementation(declined);
  auto kernel = std::make_unique<OneDnnKernel>();
  kernel->set_primitive(dnnl::convolution_backward_data(pd), pd.impl_info_str());
  kernel->bind_input(DNNL_ARG_DIFF_DST, 0, Layout(node.input(0)->type(), pd.diff_dst_desc()));
  kernel->bind_input(DNNL_ARG_WEIGHTS, 1, Layout(node.input(1)->type(), pd.weights_desc()), pd.weights_desc());
  kernel->bind_output(DNNL_ARG_DIFF_SRC, 0, Layout(node.output()->type(), pd.diff_src_desc()));
  kernel->use_scratchpad(pd.scratchpad_desc());
  return kernel;
}

auto grad_weights_desc(const ConvProblem& problem, const KernelRequest& request) {
  const Node& node = request.node;
  const DType dtype = node.input(0)->dtype();
  const ConvDescs any = problem.any(dtype, dtype, dtype);
  const auto hint = problem.forward(any, onednn_attr(), prop_kind::forward_training);
  ConvDescs descs = problem.any(dtype, node.output()->dtype(), dtype);
  if (node.outputs().size() > 1) descs.bias = Layout(node.output(1)->type()).desc();
  const auto make = [&](const ConvDescs& d) {
    return dnnl::convolution_backward_weights::primitive_desc(dnnl_engine(), dnnl::algorithm::convolution_direct, d.x,
                                                              d.w, d.bias, d.y, problem.strides, problem.dilates,
                                                              problem.begins, problem.ends, hint, onednn_attr(), true);
  };
  if (!hint) return dnnl::convolution_backward_weights::primitive_desc();
  std::vector<GivenDesc> given{{DNNL_ARG_DIFF_DST, &ConvDescs::y, request.inputs[0].desc()},
                               {DNNL_ARG_SRC, &ConvDescs::x, request.inputs[1].desc()}};
  // The parameter lies as the forward convolution asked for, and the gradient is brought into that layout.
  if (node.output()->dtype() == dtype) {
    given.push_back({DNNL_ARG_DIFF_WEIGHTS, &ConvDescs::w, hint.weights_desc()});
  }
  return settle_layouts(make, descs, given, problem.pointwise());
}

std::unique_ptr<Kernel> make_grad_weights(const KernelRequest& request, std::string& declined) {
  if (!onednn_conv_possible(request, declined)) return nullptr;
  const Node& node = request.node;
  const auto pd = grad_weights_desc(ConvProblem(conv_geometry(node)), request);
  if (!pd) return no_implementation(declined);
  auto kernel = std::make_unique<OneDnnKernel>();
  kernel->set_primitive(dnnl::convolution_backward_weights(pd), pd.impl_info_str());
  kernel->bind_input(DNNL_ARG_DIFF_DST, 0, Layout(node.input(0)->type(), pd.diff_dst_desc()));
  kernel->bind_input(DNNL_ARG_SRC, 1, Layout(node.input(1)->type(), pd.src_desc()));
  kernel->bind_output(DNNL_ARG_DIFF_WEIGHTS, 0, Layout(node.output()->type(), pd.diff_weights_desc()),
                      pd.diff_weights_desc());
  if (node.outputs().size() > 1) kernel->bind_output(DNNL_ARG_DIFF_BIAS, 1, Layout(node.output(1)->type()));
  kernel->use_scratchpad(pd.scratchpad_desc());
  return kernel;
}

const RegisterKernel kConv(op::kConv, "onednn", KernelPriority::kOneDnn, make_conv);
const RegisterKernel kGradData(op::kConvGradData, "onednn", KernelPriority::kOneDnn, make_grad_data);
const RegisterKernel kGradWeights(op::kConvGradWeights, "onednn", KernelPriority::kOneDnn, make_grad_weights);

}  // namespace
}  // namespace thalweg

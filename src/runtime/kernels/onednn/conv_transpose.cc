// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "ops/ids.h"
#include "runtime/kernels/onednn/conv_desc.h"
#include "runtime/kernels/onednn/eltwise.h"

namespace thalweg {
namespace {

using dnnl::memory;

/// oneDNN counts output channels first in the weights, we (and ONNX) input channels. `groups`: one dimension before.
memory::desc swap_channels(const memory::desc& md, bool groups) {
  std::vector<int> order(static_cast<size_t>(md.get_ndims()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[groups ? 1 : 0], order[groups ? 2 : 1]);
  return md.permute_axes(order);
}

std::unique_ptr<Kernel> make_transpose(const KernelRequest& request, std::string& declined) {
  if (!onednn_conv_possible(request, declined)) return nullptr;
  const Node& node = request.node;
  const ConvProblem problem(conv_geometry(node));
  const bool groups = problem.geometry.groups > 1;
  const DType dtype = node.input(0)->dtype();
  ConvDescs descs = problem.any(dtype, dtype, dtype);
  memory::dims weights = problem.weights;
  std::swap(weights[groups ? 1 : 0], weights[groups ? 2 : 1]);
  descs.w = memory::desc(weights, to_dnnl(dtype), memory::format_tag::any);
  if (node.input(2) != nullptr) descs.bias = Layout(node.input(2)->type()).desc();
  dnnl::primitive_attr attr = onednn_attr();
  dnnl::post_ops after;
  append_activation(node.attrs(), after);
  attr.set_post_ops(after);
  const auto make = [&](const ConvDescs& d) {
    return dnnl::deconvolution_forward::primitive_desc(
        dnnl_engine(), dnnl::prop_kind::forward_training, dnnl::algorithm::deconvolution_direct, d.y, d.w, d.bias, d.x,
        problem.strides, problem.dilates, problem.begins, problem.ends, attr, true);
  };
  const auto pd =
      settle_layouts(make, descs, {{DNNL_ARG_SRC, &ConvDescs::y, request.inputs[0].desc()}}, problem.pointwise());
  if (!pd) {
    declined = "no implementation for these shapes and element types";
    return nullptr;
  }
  auto kernel = std::make_unique<OneDnnKernel>();
  kernel->set_primitive(dnnl::deconvolution_forward(pd), pd.impl_info_str());
  kernel->bind_input(DNNL_ARG_SRC, 0, Layout(node.input(0)->type(), pd.src_desc()));
  kernel->bind_input(DNNL_ARG_WEIGHTS, 1, Layout(node.input(1)->type(), swap_channels(pd.weights_desc(), groups)),
                     pd.weights_desc());
  if (node.input(2) != nullptr) kernel->bind_input(DNNL_ARG_BIAS, 2, Layout(node.input(2)->type()));
  kernel->bind_output(DNNL_ARG_DST, 0, Layout(node.output()->type(), pd.dst_desc()));
  kernel->use_scratchpad(pd.scratchpad_desc());
  return kernel;
}

const RegisterKernel kTranspose(op::kConvTranspose, "onednn", KernelPriority::kOneDnn, make_transpose);

}  // namespace
}  // namespace thalweg

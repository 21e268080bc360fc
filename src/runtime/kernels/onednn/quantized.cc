// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/cpu.h"
#include "ops/ids.h"
#include "ops/quantized_result.h"
#include "runtime/kernels/onednn/conv_desc.h"

namespace thalweg {
namespace {

using dnnl::memory;

constexpr int kWeightScales = DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS;
constexpr int kResultScale = DNNL_ARG_ATTR_SCALES | DNNL_ARG_DST;
constexpr int kInputZero = DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC;
constexpr int kResultZero = DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST;
constexpr int kResidual = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1;

/// The result's arithmetic in oneDNN's terms. `channel_mask`: the dimension of the weights that is output channels.
dnnl::primitive_attr attributes(const ops::QuantizedResult& result, int channel_mask, const Value* residual) {
  dnnl::primitive_attr attr = onednn_attr();
  attr.set_scales_mask(DNNL_ARG_WEIGHTS, channel_mask);
  if (result.x_zero != 0) attr.set_zero_points_mask(DNNL_ARG_SRC, 0);
  if (result.factor != 1.0) attr.set_scales_mask(DNNL_ARG_DST, 0);
  if (result.zero != 0) attr.set_zero_points_mask(DNNL_ARG_DST, 0);
  dnnl::post_ops after;
  if (residual != nullptr) after.append_binary(dnnl::algorithm::binary_add, any_layout(residual->type()));
  if (result.low == 0.0 && std::isinf(result.high)) {
    after.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
  } else if (!std::isinf(result.low) || !std::isinf(result.high)) {
    after.append_eltwise(dnnl::algorithm::eltwise_clip, static_cast<float>(result.low),
                         static_cast<float>(result.high));
  }
  attr.set_post_ops(after);
  return attr;
}

/// Binds the single numbers that `attributes` announced.
void bind_result(OneDnnKernel& kernel, const ops::QuantizedResult& result) {
  const memory::desc integer({1}, memory::data_type::s32, memory::format_tag::a);
  const auto zero = [](int64_t value) { return Tensor::scalar<int32_t>(static_cast<int32_t>(value)); };
  if (result.x_zero != 0) kernel.bind_constant(kInputZero, zero(result.x_zero), integer);
  if (result.zero != 0) kernel.bind_constant(kResultZero, zero(result.zero), integer);
  // oneDNN divides by the scale of the result.
  if (result.factor != 1.0) {
    kernel.bind_constant(kResultScale, Tensor::scalar<float>(static_cast<float>(1.0 / result.factor)), f32_vector(1));
  }
}

std::unique_ptr<Kernel> make_conv(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (has_empty_operand(node)) {
    declined = "an operand has no elements";
    return nullptr;
  }
  const ConvProblem problem(conv_geometry(node));
  const ops::QuantizedResult result = read_result(node.attrs());
  const Value* bias = node.input(3);
  const Value* residual = node.input(4);
  ConvDescs descs = problem.any(node.input(0)->dtype(), DType::kI8, node.output()->dtype());
  if (bias != nullptr) descs.bias = f32_vector(bias->shape()[0]);
  const auto attr = attributes(result, problem.geometry.groups > 1 ? 3 : 1, residual);
  const auto pd = problem.forward(descs, attr, dnnl::prop_kind::forward_inference);
  if (!pd) {
    declined = "no implementation for these shapes and element types";
    return nullptr;
  }
  auto kernel = std::make_unique<OneDnnKernel>();
  kernel->set_primitive(dnnl::convolution_forward(pd), pd.impl_info_str());
  kernel->bind_input(DNNL_ARG_SRC, 0, Layout(node.input(0)->type(), pd.src_desc()));
  kernel->bind_input(DNNL_ARG_WEIGHTS, 1, Layout(node.input(1)->type(), pd.weights_desc()), pd.weights_desc());
  kernel->bind_input(kWeightScales, 2, Layout(node.input(2)->type()));
  if (bias != nullptr) kernel->bind_input(DNNL_ARG_BIAS, 3, Layout(bias->type()));
  if (residual != nullptr) {
    kernel->bind_input(kResidual, 4, Layout(residual->type(), pd.query_md(dnnl::query::exec_arg_md, kResidual)));
  }
  kernel->inputs.resize(node.inputs().size());
  kernel->bind_output(DNNL_ARG_DST, 0, Layout(node.output()->type(), pd.dst_desc()));
  bind_result(*kernel, result);
  kernel->use_scratchpad(pd.scratchpad_desc());
  return kernel;
}

/// Row-major memory seen as a matrix of all its rows.
memory::desc as_rows(const Layout& layout) {
  const int64_t columns = layout.shape()[-1];
  return {{layout.shape().num_elements() / columns, columns}, to_dnnl(layout.dtype()), {columns, 1}};
}

std::unique_ptr<Kernel> make_linear(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (has_empty_operand(node)) {
    declined = "an operand has no elements";
    return nullptr;
  }
  const ops::QuantizedResult result = read_result(node.attrs());
  const Value* bias = node.input(3);
  const Layout x(node.input(0)->type());
  const Layout y(node.output()->type());
  const int64_t channels = node.input(1)->shape()[1];
  memory::desc bias_desc;
  if (bias != nullptr) bias_desc = {{1, channels}, memory::data_type::f32, memory::format_tag::ab};
  // Rearranging weights pays only if it is done once.
  const memory::desc weight = request.input_is_fixed.size() > 1 && request.input_is_fixed[1]
                                  ? any_layout(node.input(1)->type())
                                  : Layout(node.input(1)->type()).desc();
  const dnnl::matmul::primitive_desc pd(dnnl_engine(), as_rows(x), weight, bias_desc, as_rows(y),
                                        attributes(result, 2, nullptr));
  auto kernel = std::make_unique<OneDnnKernel>();
  kernel->set_primitive(dnnl::matmul(pd), pd.impl_info_str());
  kernel->bind_input(DNNL_ARG_SRC, 0, x, as_rows(x));
  kernel->bind_input(DNNL_ARG_WEIGHTS, 1, Layout(node.input(1)->type(), pd.weights_desc()));
  kernel->bind_input(kWeightScales, 2, Layout(node.input(2)->type()));
  if (bias != nullptr) kernel->bind_input(DNNL_ARG_BIAS, 3, Layout(bias->type()), bias_desc);
  kernel->inputs.resize(node.inputs().size());
  kernel->bind_output(DNNL_ARG_DST, 0, y, as_rows(y));
  bind_result(*kernel, result);
  kernel->use_scratchpad(pd.scratchpad_desc());
  return kernel;
}

/// Only where the CPU has instructions for it: oneDNN's other code cuts sums of two products to 16 bits.
struct RegisterExact {
  RegisterExact() {
    if (!cpu_has_int8_products()) return;
    RegisterKernel(op::kQuantizedConv, "onednn", KernelPriority::kOneDnn, make_conv);
    RegisterKernel(op::kQuantizedLinear, "onednn", KernelPriority::kOneDnn, make_linear);
  }
};
const RegisterExact kExact;

}  // namespace
}  // namespace thalweg

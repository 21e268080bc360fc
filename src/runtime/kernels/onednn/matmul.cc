// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/ids.h"
#include "runtime/kernels/onednn/eltwise.h"
#include "runtime/kernels/onednn/onednn_kernel.h"
#include "runtime/kernels/simd/column_sum.h"

namespace thalweg {
namespace {

using dnnl::memory;

bool is_supported(const Node& node, std::string& declined) {
  for (const auto* group : {&node.inputs(), &node.outputs()}) {
    for (const Value* value : *group) {
      if (value == nullptr || value->dtype() == DType::kF32 || value->dtype() == DType::kBF16) continue;
      declined = std::string("element type ") + name_of(value->dtype());
      return false;
    }
  }
  if (has_empty_operand(node)) {
    declined = "an operand is empty";
    return false;
  }
  return true;
}

/// Layouts that a product can read in place: no blocks, and one of the last two dimensions contiguous.
Layout readable(const Layout& layout) {
  if (layout.is_plain() || layout.desc().get_inner_nblks() > 0 || layout.padded()) return Layout(layout.type());
  const memory::dims strides = layout.desc().get_strides();
  const size_t rank = strides.size();
  return strides[rank - 1] == 1 || strides[rank - 2] == 1 ? layout : Layout(layout.type());
}

/// One side of the product: its batch dimensions brought to `rank`, its matrix dimensions in the order they multiply.
memory::desc side(const Layout& layout, bool transposed, int rank) {
  memory::dims dims = layout.desc().get_dims();
  memory::dims strides = layout.desc().get_strides();
  if (transposed) {
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  }
  const size_t missing = static_cast<size_t>(rank) - dims.size();
  const int64_t outer = strides.empty() ? 1 : layout.shape().num_elements();
  dims.insert(dims.begin(), missing, 1);
  strides.insert(strides.begin(), missing, outer);
  return {dims, layout.desc().get_data_type(), strides};
}

/// Row-major memory seen as a matrix of all its rows.
memory::desc as_rows(const Layout& layout) {
  const int64_t columns = layout.shape()[-1];
  return {{layout.shape().num_elements() / columns, columns}, to_dnnl(layout.dtype()), {columns, 1}};
}

memory::desc transposed(const memory::desc& md) {
  const memory::dims dims = md.get_dims();
  const memory::dims strides = md.get_strides();
  return {{dims[1], dims[0]}, md.get_data_type(), {strides[1], strides[0]}};
}

std::unique_ptr<Kernel> make_matmul(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (!is_supported(node, declined)) return nullptr;
  const bool ta = node.attrs().flag("transpose_a");
  const bool tb = node.attrs().flag("transpose_b");
  Layout a = readable(request.inputs[0]);
  const Layout b = readable(request.inputs[1]);
  const Layout y(node.output()->type());
  const bool one_matrix = b.shape().rank() == 2 && !ta && (a.shape().rank() == 2 || a.is_plain());
  memory::desc left, right, result;
  if (one_matrix && a.shape().rank() > 2) {
    left = as_rows(a);
    right = side(b, tb, 2);
    result = as_rows(y);
  } else {
    const int rank = y.shape().rank();
    left = side(a, ta, rank);
    right = side(b, tb, rank);
    result = y.desc();
  }
  const dnnl::matmul::primitive_desc pd(dnnl_engine(), left, right, result, onednn_attr());
  auto kernel = std::make_unique<OneDnnKernel>();
  kernel->set_primitive(dnnl::matmul(pd), pd.impl_info_str());
  kernel->bind_input(DNNL_ARG_SRC, 0, a, left);
  kernel->bind_input(DNNL_ARG_WEIGHTS, 1, b, right);
  kernel->bind_output(DNNL_ARG_DST, 0, y, result);
  kernel->use_scratchpad(pd.scratchpad_desc());
  return kernel;
}

/// Attributes with the activation fused into the product.
dnnl::primitive_attr linear_attr(const Node& node) {
  dnnl::primitive_attr attr = onednn_attr();
  dnnl::post_ops after;
  append_activation(node.attrs(), after);
  attr.set_post_ops(after);
  return attr;
}

/// Weights that change stay row-major: forward, data gradient and weights gradient then all work on one copy of them,
/// and oneDNN's own choice of layout is no faster where it matters (large weights, small batch: bound by reading them
/// once). Those that are fixed are arranged once, as the product reads them.
std::unique_ptr<Kernel> make_linear(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (!is_supported(node, declined)) return nullptr;
  const Layout x(node.input(0)->type());
  Layout weight(node.input(1)->type());
  const Layout y(node.output()->type());
  const bool has_bias = node.input(2) != nullptr;
  memory::desc bias;
  if (has_bias) bias = {{1, weight.shape()[0]}, to_dnnl(node.input(2)->dtype()), memory::format_tag::ab};
  const bool fixed = request.input_is_fixed.size() > 1 && request.input_is_fixed[1];
  memory::desc right = transposed(weight.desc());
  if (fixed) right = {right.get_dims(), right.get_data_type(), memory::format_tag::any};
  const dnnl::matmul::primitive_desc pd(dnnl_engine(), as_rows(x), right, bias, as_rows(y), linear_attr(node));
  if (fixed) {
    right = pd.weights_desc();
    weight = Layout(weight.type(), right.permute_axes({1, 0}));
  }
  auto kernel = std::make_unique<OneDnnKernel>();
  kernel->set_primitive(dnnl::matmul(pd), pd.impl_info_str());
  kernel->bind_input(DNNL_ARG_SRC, 0, x, as_rows(x));
  kernel->bind_input(DNNL_ARG_WEIGHTS, 1, weight, right);
  if (has_bias) kernel->bind_input(DNNL_ARG_BIAS, 2, Layout(node.input(2)->type()), bias);
  kernel->inputs.resize(node.inputs().size());
  kernel->bind_output(DNNL_ARG_DST, 0, y, as_rows(y));
  kernel->use_scratchpad(pd.scratchpad_desc());
  return kernel;
}

/// The product by oneDNN, the bias by columns: strips are dealt out to threads, so that the sums do not depend on them.
class LinearGradWeightsKernel : public OneDnnKernel {
 public:
  void run(const KernelArguments& arguments) const override {
    OneDnnKernel::run(arguments);
    if (outputs.size() < 2 || arguments.outputs[1] == nullptr) return;
    const int64_t columns = inputs[0].shape()[-1];
    const int64_t rows = inputs[0].shape().num_elements() / columns;
    constexpr int64_t kStrip = 64;
    auto* out = static_cast<float*>(arguments.outputs[1]);
    const bool narrow = inputs[0].dtype() == DType::kBF16;
    const bool worthwhile = rows * columns > 32768;
#pragma omp parallel for schedule(static) num_threads(arguments.threads) if (worthwhile)
    for (int64_t c = 0; c < columns; c += kStrip) {
      const int64_t width = std::min(kStrip, columns - c);
      if (narrow) {
        simd::column_sum_bf16(static_cast<const uint16_t*>(arguments.inputs[0]) + c, rows, width, columns, out + c);
      } else {
        simd::column_sum(static_cast<const float*>(arguments.inputs[0]) + c, rows, width, columns, out + c);
      }
    }
  }
};

std::unique_ptr<Kernel> make_linear_grad_weights(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (!is_supported(node, declined)) return nullptr;
  if (node.outputs().size() > 1 && node.output(1)->dtype() != DType::kF32) {
    declined = "the bias gradient is not f32";
    return nullptr;
  }
  const Layout dy(node.input(0)->type());
  const Layout x(node.input(1)->type());
  const Layout dw(node.output()->type());
  const memory::desc left = transposed(as_rows(dy));
  const dnnl::matmul::primitive_desc pd(dnnl_engine(), left, as_rows(x), dw.desc(), onednn_attr());
  auto kernel = std::make_unique<LinearGradWeightsKernel>();
  kernel->set_primitive(dnnl::matmul(pd), pd.impl_info_str());
  kernel->bind_input(DNNL_ARG_SRC, 0, dy, left);
  kernel->bind_input(DNNL_ARG_WEIGHTS, 1, x, as_rows(x));
  kernel->bind_output(DNNL_ARG_DST, 0, dw);
  if (node.outputs().size() > 1) kernel->outputs.emplace_back(node.output(1)->type());
  kernel->use_scratchpad(pd.scratchpad_desc());
  return kernel;
}

const RegisterKernel kMatmul(op::kMatmul, "onednn", KernelPriority::kOneDnn, make_matmul);
const RegisterKernel kLinear(op::kLinear, "onednn", KernelPriority::kOneDnn, make_linear);
const RegisterKernel kLinearGradWeights(op::kLinearGradWeights, "onednn", KernelPriority::kOneDnn,
                                        make_linear_grad_weights);

}  // namespace
}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Maximum pooling of quantised values; those in floating point have native kernels, which also give the index.
#include <algorithm>

#include "ops/ids.h"
#include "ops/window.h"
#include "runtime/kernels/onednn/onednn_kernel.h"

namespace thalweg {
namespace {

std::unique_ptr<Kernel> make_max_pool(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  const Value* x = node.input(0);
  if (x->dtype() != DType::kU8 && x->dtype() != DType::kI8) declined = "not for floating point";
  if (has_empty_operand(node)) declined = "an operand has no elements";
  if (node.attrs().has("output_size")) declined = "the windows of adaptive pools differ in size";
  if (!node.graph().consumers(node.output(1)).empty() || node.graph().is_output(node.output(1))) {
    declined = "the index is wanted";
  }
  if (!declined.empty()) return nullptr;
  const Window window = read_window(node.attrs(), node.attrs().integers("kernel"));
  dnnl::memory::dims dilates, ends;
  for (size_t d = 0; d < window.rank(); ++d) {
    const auto at = static_cast<int>(d) + 2;
    dilates.push_back(window.dilations[d] - 1);
    // With ceil_mode the last window reaches beyond the padding.
    const int64_t covered = (node.output()->shape()[at] - 1) * window.strides[d] + window.reach(d);
    ends.push_back(std::max(covered - x->shape()[at] - window.begins[d], int64_t{0}));
  }
  const Layout in = request.inputs[0];
  const dnnl::pooling_forward::primitive_desc pd(
      dnnl_engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::pooling_max, in.desc(),
      any_layout(node.output()->type()), window.strides, window.kernel, dilates, window.begins, ends, onednn_attr());
  auto kernel = std::make_unique<OneDnnKernel>();
  kernel->set_primitive(dnnl::pooling_forward(pd), pd.impl_info_str());
  kernel->bind_input(DNNL_ARG_SRC, 0, in);
  kernel->bind_output(DNNL_ARG_DST, 0, Layout(node.output()->type(), pd.dst_desc()));
  kernel->outputs.emplace_back(node.output(1)->type());
  kernel->use_scratchpad(pd.scratchpad_desc());
  return kernel;
}

const RegisterKernel kMaxPool(op::kMaxPool, "onednn", KernelPriority::kOneDnn, make_max_pool);

}  // namespace
}  // namespace thalweg

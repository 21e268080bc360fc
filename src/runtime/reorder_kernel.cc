// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/reorder_kernel.h"

#include "runtime/kernels/onednn/onednn_kernel.h"

namespace thalweg {

std::unique_ptr<Kernel> make_reorder_kernel(const Layout& from, const Layout& to) {
  if (from.shape().num_elements() == 0) {
    auto nothing = std::make_unique<FunctionKernel>([](const KernelArguments&) {});
    nothing->name = "nothing";
    nothing->inputs = {from};
    nothing->outputs = {to};
    return nothing;
  }
  auto kernel = std::make_unique<OneDnnKernel>();
  const dnnl::memory::desc source = from.desc_like(to);
  const dnnl::memory::desc target = to.desc_like(from);
  const dnnl::reorder::primitive_desc pd(dnnl_engine(), source, dnnl_engine(), target);
  kernel->set_primitive(dnnl::reorder(pd), pd.impl_info_str());
  kernel->bind_input(DNNL_ARG_FROM, 0, from, source);
  kernel->bind_output(DNNL_ARG_TO, 0, to, target);
  return kernel;
}

}  // namespace thalweg

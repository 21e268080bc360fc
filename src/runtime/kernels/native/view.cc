// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Ops that only rename the shape of row-major memory: no kernel runs, the output is the input's memory.
#include "runtime/kernel.h"

namespace thalweg {
namespace {

std::unique_ptr<Kernel> make_view(const KernelRequest& request, std::string&) {
  auto kernel = std::make_unique<FunctionKernel>([](const KernelArguments&) {});
  kernel->name = "view";
  kernel->inputs = plain_inputs(request.node);
  // Only the shape of input 1 (reshape_like) matters: take it as it is, so that nothing is reordered for it.
  for (size_t i = 1; i < request.inputs.size(); ++i) kernel->inputs[i] = request.inputs[i];
  kernel->outputs = plain_outputs(request.node);
  kernel->alias_of_input = 0;
  return kernel;
}

const RegisterKernel kReshape("reshape", "view", KernelPriority::kSpecial, make_view);
const RegisterKernel kReshapeLike("reshape_like", "view", KernelPriority::kSpecial, make_view);
const RegisterKernel kSqueeze("squeeze", "view", KernelPriority::kSpecial, make_view);
const RegisterKernel kUnsqueeze("unsqueeze", "view", KernelPriority::kSpecial, make_view);
const RegisterKernel kStopGradient("stop_gradient", "view", KernelPriority::kSpecial, make_view);

}  // namespace
}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Ops that only rename the shape of row-major memory: no kernel runs, the output is the input's memory.
#include "ops/ids.h"
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

const RegisterKernel kReshape(op::kReshape, "view", KernelPriority::kSpecial, make_view);
const RegisterKernel kReshapeLike(op::kReshapeLike, "view", KernelPriority::kSpecial, make_view);
const RegisterKernel kSqueeze(op::kSqueeze, "view", KernelPriority::kSpecial, make_view);
const RegisterKernel kUnsqueeze(op::kUnsqueeze, "view", KernelPriority::kSpecial, make_view);
const RegisterKernel kStopGradient(op::kStopGradient, "view", KernelPriority::kSpecial, make_view);

}  // namespace
}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "ops/ids_rare.h"
#include "runtime/kernel.h"

namespace thalweg {
namespace {

/// The plain form and the fast one: bytes are copied, or left where they are.
std::unique_ptr<Kernel> make_bit_cast(const KernelRequest& request, std::string& /*declined*/) {
  const Node& node = request.node;
  const size_t bytes = static_cast<size_t>(node.output()->shape().num_elements()) * size_of(node.output()->dtype());
  auto kernel = std::make_unique<FunctionKernel>([bytes](const KernelArguments& arguments) {
    if (arguments.inputs[0] != arguments.outputs[0]) std::memcpy(arguments.outputs[0], arguments.inputs[0], bytes);
  });
  kernel->name = "bit cast";
  kernel->inputs = plain_inputs(node);
  kernel->outputs = plain_outputs(node);
  kernel->in_place = {{0, 0}};
  return kernel;
}

const RegisterKernel kBitCast(op::kBitCast, "reference", KernelPriority::kReference, make_bit_cast);

}  // namespace
}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "ops/ids.h"
#include "runtime/kernels/reference/reference.h"

namespace thalweg {
namespace {

float count_elements(const Node& node) {
  const Shape& shape = node.input(0)->shape();
  const std::vector<int64_t> axes = node.attrs().integers("axes");
  if (axes.empty()) return static_cast<float>(shape.num_elements());
  int64_t count = 1;
  for (int64_t axis : axes) count *= shape[static_cast<int>(axis)];
  return static_cast<float>(count);
}

/// Only the shape matters: the input stays in whatever layout it has.
std::unique_ptr<Kernel> make_count(const KernelRequest& request, std::string&) {
  const float count = count_elements(request.node);
  auto kernel = std::make_unique<FunctionKernel>([count](const KernelArguments& arguments) {
    if (arguments.outputs[0] != nullptr) *static_cast<float*>(arguments.outputs[0]) = count;
  });
  kernel->name = request.node.op_name();
  kernel->inputs = request.inputs;
  kernel->outputs = plain_outputs(request.node);
  return kernel;
}

void reference_count(const ReferenceCall& call) { call.out().data<float>()[0] = count_elements(call.node); }

const RegisterKernel kCount(op::kElementCount, "native", KernelPriority::kNative, make_count);
const RegisterReference kReference(op::kElementCount, reference_count);

}  // namespace
}  // namespace thalweg

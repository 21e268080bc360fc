// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluate.h"

#include "runtime/kernel.h"

namespace thalweg {

bool evaluate(const Node& node, std::vector<Tensor>& results) {
  const auto& candidates = kernel_candidates(node.op_name());
  if (candidates.empty()) return false;
  std::string declined;
  const auto kernel = candidates.back().factory({node, plain_inputs(node), 1, {}}, declined);
  if (kernel == nullptr) return false;
  if (kernel->alias_of_input >= 0) {
    results = {node.input(static_cast<size_t>(kernel->alias_of_input))->data().reshaped(node.output()->shape())};
    return true;
  }
  std::vector<void*> in, out;
  for (const Value* input : node.inputs()) in.push_back(input != nullptr ? input->data().raw() : nullptr);
  for (const Value* output : node.outputs()) {
    results.emplace_back(output->type());
    out.push_back(results.back().raw());
  }
  Tensor scratch(DType::kU8, {static_cast<int64_t>(kernel->scratch_bytes)});
  const auto state = kernel->new_state();
  kernel->run({in, out, scratch.raw(), state.get(), 1, 0});
  return true;
}

}  // namespace thalweg

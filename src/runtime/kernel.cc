// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel.h"

#include <algorithm>
#include <map>

#include "runtime/kernels/reference/reference.h"

namespace thalweg {
namespace {

std::map<std::string, std::vector<KernelCandidate>>& registry() {
  static std::map<std::string, std::vector<KernelCandidate>> kernels;
  return kernels;
}

bool is_empty(const Value* value) { return value != nullptr && value->shape().num_elements() == 0; }

}  // namespace

RegisterKernel::RegisterKernel(const std::string& op, const std::string& name, KernelPriority priority,
                               KernelFactory factory) {
  auto& list = registry()[op];
  list.push_back({name, static_cast<int>(priority), std::move(factory)});
  // By name among equals: the order in which files were linked must not matter.
  std::sort(list.begin(), list.end(), [](const KernelCandidate& a, const KernelCandidate& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.name < b.name;
  });
}

const std::vector<KernelCandidate>& kernel_candidates(const std::string& op) {
  static const std::vector<KernelCandidate> none;
  [[maybe_unused]] static const bool complete = (register_op_references(), true);
  const auto found = registry().find(op);
  return found != registry().end() ? found->second : none;
}

std::vector<Layout> plain_outputs(const Node& node) {
  std::vector<Layout> layouts;
  for (const Value* output : node.outputs()) layouts.emplace_back(output->type());
  return layouts;
}

std::vector<Layout> plain_inputs(const Node& node) {
  std::vector<Layout> layouts;
  for (const Value* input : node.inputs()) layouts.push_back(input != nullptr ? Layout(input->type()) : Layout());
  return layouts;
}

bool has_empty_operand(const Node& node) {
  return std::any_of(node.inputs().begin(), node.inputs().end(), is_empty) ||
         std::any_of(node.outputs().begin(), node.outputs().end(), is_empty);
}

}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Programs of one model, compiled for several shapes of its inputs, share what they derive from its weights.
#include <algorithm>

#include "runtime/lowering.h"

namespace thalweg {
namespace {

std::string text_of(const Layout& layout) {
  return layout.to_string() + layout.shape().to_string() + "@" + std::to_string(layout.bytes());
}

/// Layouts of integers may hold sums beside the elements, which their text does not say.
bool is_told_by_text(const Layout& layout) { return is_floating(layout.dtype()); }

/// The text of a tensor or graph among the attributes does not say what it holds.
bool is_told_by_text(const Node& node) {
  const auto& items = node.attrs().items();
  return std::none_of(items.begin(), items.end(), [](const auto& item) {
    return std::holds_alternative<Tensor>(item.second) || std::holds_alternative<std::shared_ptr<Graph>>(item.second);
  });
}

/// What the step computes of its inputs, apart from which these are; "" if that cannot be said.
std::string work_of(const Step& step) {
  if (step.kernel->outputs.size() != 1 || (step.node != nullptr && !is_told_by_text(*step.node))) return "";
  for (const auto* layouts : {&step.kernel->inputs, &step.kernel->outputs}) {
    for (const Layout& layout : *layouts) {
      if (!is_told_by_text(layout)) return "";
    }
  }
  std::string text = step.node != nullptr ? step.node->op_name() + step.node->attrs().to_string() : step.kernel->name;
  for (const Layout& layout : step.kernel->inputs) text += " " + text_of(layout);
  return text + " -> " + text_of(step.kernel->outputs[0]);
}

}  // namespace

std::vector<std::string> Lowering::names_of_weights() const {
  std::vector<std::string> names(program_.buffers_.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const Buffer& buffer = program_.buffers_[i];
    if (buffer.kind == Buffer::Kind::kVariable && program_.variables_->stored_elsewhere(buffer.place)) {
      names[i] = "w" + std::to_string(buffer.place);
    } else if (buffer.kind == Buffer::Kind::kConstant) {
      names[i] = "c" + std::to_string(reinterpret_cast<uintptr_t>(buffer.constant.raw()));
    }
  }
  for (const Step& step : program_.prologue_) {
    std::string name = work_of(step) + "(";
    bool known = name.size() > 1;
    for (const int input : step.inputs) {
      known = known && (input < 0 || !names[static_cast<size_t>(input)].empty());
      if (known && input >= 0) name += names[static_cast<size_t>(input)] + ",";
    }
    if (known && step.outputs[0] >= 0) names[static_cast<size_t>(step.outputs[0])] = name + ")";
  }
  return names;
}

void Lowering::share_weights() {
  constexpr size_t kWorthSharing = 1024;
  const std::vector<std::string> names = names_of_weights();
  for (size_t i = 0; i < names.size(); ++i) {
    Buffer& buffer = program_.buffers_[i];
    if (buffer.kind != Buffer::Kind::kPersistent || buffer.first_step < 0 || buffer.bytes < kWorthSharing) continue;
    if (names[i].empty() || root_of(static_cast<int>(i)) != static_cast<int>(i)) continue;
    const Tensor there = program_.variables_->derived().find(names[i], buffer.bytes);
    if (there.defined()) {
      buffer.kind = Buffer::Kind::kConstant;
      buffer.constant = there;
    } else {
      named_weights_.emplace_back(names[i], i);
    }
  }
  remove_idle_prologue();
}

void Lowering::remove_idle_prologue() {
  std::vector<Step>& steps = program_.prologue_;
  std::vector<bool> wanted(program_.buffers_.size(), false);
  const auto root = [&](int buffer) { return static_cast<size_t>(root_of(buffer)); };
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Buffer& buffer = program_.buffers_[i];
    wanted[i] = buffer.kind == Buffer::Kind::kPersistent && buffer.first_step >= 0;
  }
  std::vector<bool> idle(steps.size(), false);
  for (size_t s = steps.size(); s-- > 0;) {
    const Step& step = steps[s];
    if (step.kernel->alias_of_input >= 0) continue;
    idle[s] = std::none_of(step.outputs.begin(), step.outputs.end(),
                           [&](int output) { return output >= 0 && wanted[root(output)]; });
    if (idle[s]) continue;
    for (const int input : step.inputs) {
      if (input >= 0) wanted[root(input)] = true;
    }
  }
  size_t at = 0;
  std::erase_if(steps, [&](const Step&) { return idle[at++]; });
}

void Lowering::place_weights() {
  const auto block = std::make_shared<WeightBlock>(program_.persistent_bytes_);
  for (const Buffer& buffer : program_.buffers_) {
    if (buffer.kind == Buffer::Kind::kConstant) block->constants.push_back(buffer.constant);
  }
  for (const auto& [name, buffer] : named_weights_) {
    program_.variables_->derived().add(name, block, program_.buffers_[buffer].place);
  }
  program_.persistent_ = block;
}

}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/lowering.h"

#include <algorithm>

#include "base/limits.h"
#include "base/text.h"
#include "base/threads.h"
#include "graph/op_registry.h"
#include "ops/ids.h"
#include "runtime/reorder_kernel.h"
#include "runtime/step_threads.h"
#include "runtime/tuner.h"

namespace thalweg {

void Lowering::run() {
  add_sources();
  for (const auto& node : program_.graph_->nodes()) {
    if (!paused_ && reads_late_input(*node)) pause();
    lower(*node);
  }
  if (!paused_) pause();
  finish_gradients();
  finish_outputs();
  set_lifetimes();
  hold_variables();
  share_memory();
  share_weights();
  find_once_buffers();
  place_buffers();
  place_weights();
}

int Lowering::new_buffer(Buffer::Kind kind, size_t bytes, size_t place) {
  Buffer buffer;
  buffer.kind = kind;
  buffer.bytes = bytes;
  buffer.place = place;
  buffer.root = static_cast<int>(program_.buffers_.size());
  program_.buffers_.push_back(std::move(buffer));
  return program_.buffers_.back().root;
}

void Lowering::add_sources() {
  const Graph& graph = *program_.graph_;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Layout layout(graph.inputs()[i]->type());
    values_[graph.inputs()[i]].versions.push_back({layout, new_buffer(Buffer::Kind::kInput, layout.bytes(), i)});
  }
  for (const auto* group : {&graph.parameters(), &graph.states()}) {
    for (const Value* value : *group) {
      const size_t index = program_.variables_->index(value->name());
      const Layout& layout = program_.variables_->layout(index);
      TW_REQUIRE(layout.type() == value->type(), "'", value->name(), "' is ", layout.type(), " in the weights but ",
                 value->type(), " in the graph");
      ValueState& state = values_[value];
      state.versions.push_back({layout, new_buffer(Buffer::Kind::kVariable, layout.bytes(), index)});
      state.fixed = !program_.options_.training;
      state.variable = static_cast<int>(index);
    }
  }
  for (const Value* value : graph.constants()) {
    const Layout layout(value->type());
    const int buffer = new_buffer(Buffer::Kind::kConstant, layout.bytes());
    program_.buffers_[static_cast<size_t>(buffer)].constant = value->data();
    values_[value] = {{{layout, buffer}}, true, nullptr, -1};
  }
}

Layout Lowering::primary_layout(const Value* value) const {
  const ValueState& state = values_.at(value);
  if (!state.versions.empty()) return state.versions.front().layout;
  return primary_layout(state.lazy_source).with_dtype(value->dtype());
}

Lowering::Version& Lowering::source_version(const Value* value) {
  ValueState& state = values_.at(value);
  return state.versions.empty() ? source_version(state.lazy_source) : state.versions.front();
}

bool Lowering::stored_elsewhere(const ValueState& state) const {
  return state.fixed && state.variable >= 0 &&
         program_.variables_->stored_elsewhere(static_cast<size_t>(state.variable));
}

int Lowering::arranged(ValueState& state, const Layout& layout) {
  const int buffer = new_buffer(Buffer::Kind::kConstant, layout.bytes());
  program_.buffers_[static_cast<size_t>(buffer)].constant =
      program_.variables_->arranged(static_cast<size_t>(state.variable), layout);
  state.versions.push_back({layout, buffer});
  return buffer;
}

int Lowering::materialize(const Value* value, const Layout& layout, bool once) {
  ValueState& state = values_.at(value);
  for (const Version& version : state.versions) {
    if (version.layout != layout) continue;
    // From here on a kernel depends on it: a later one that wants another layout gets a reorder.
    if (state.variable >= 0) program_.variables_->pin(static_cast<size_t>(state.variable));
    return version.buffer;
  }
  if (!once && stored_elsewhere(state)) return arranged(state, layout);
  if (!once && state.variable >= 0 && !program_.variables_->pinned(static_cast<size_t>(state.variable))) {
    const auto index = static_cast<size_t>(state.variable);
    program_.variables_->adopt(index, layout);
    program_.variables_->pin(index);
    Version& version = state.versions.front();
    version.layout = layout;
    program_.buffers_[static_cast<size_t>(version.buffer)].bytes = layout.bytes();
    return version.buffer;
  }
  const Version from = source_version(value);
  Step step;
  step.threads = worthwhile_threads_of_reorder(from.layout, layout, program_.options_.threads);
  const FewerThreads fewer(step.threads);
  step.kernel = make_reorder_kernel(from.layout, layout);
  step.label = (state.versions.empty() ? "cast " : "reorder ") + value->name();
  step.inputs = {from.buffer};
  const auto kind = state.fixed ? Buffer::Kind::kPersistent : Buffer::Kind::kArena;
  const int buffer = new_buffer(kind, layout.bytes());
  step.outputs = {buffer};
  add_step(std::move(step), state.fixed);
  values_.at(value).versions.push_back({layout, buffer});
  return buffer;
}

namespace {

/// Folding a batch norm leaves a product of the weights and a factor per channel.
const Value* weights_behind(const Value* value) {
  while (value->producer() != nullptr && value->producer()->op_name() == op::kMul &&
         value->producer()->input(0)->shape() == value->shape()) {
    value = value->producer()->input(0);
  }
  return value;
}

}  // namespace

Tensor Lowering::content(const Value* value) const {
  value = weights_behind(value);
  const auto found = values_.find(value);
  if (found == values_.end()) return {};
  if (found->second.variable >= 0) return program_.variables_->view(static_cast<size_t>(found->second.variable));
  return value->data();
}

int Lowering::derive(const Value* value, DerivedInput& derived) {
  const ValueState& state = values_.at(value);
  const bool fixed = state.fixed;
  Step step;
  step.label = derived.kernel->name + " " + value->name();
  // What is stored elsewhere can be fetched again, and need not stay in memory for what is derived once.
  step.inputs = {materialize(value, derived.kernel->inputs[0], stored_elsewhere(state))};
  const int buffer =
      new_buffer(fixed ? Buffer::Kind::kPersistent : Buffer::Kind::kArena, derived.kernel->outputs[0].bytes());
  step.outputs = {buffer};
  step.kernel = std::move(derived.kernel);
  add_step(std::move(step), fixed);
  return buffer;
}

void Lowering::add_step(Step step, bool fixed) {
  if (step.threads == 0) step.threads = program_.options_.threads;
  if (step.kernel->scratch_bytes > 0) {
    step.scratch = new_buffer(fixed ? Buffer::Kind::kPersistent : Buffer::Kind::kArena, step.kernel->scratch_bytes);
  }
  (fixed ? program_.prologue_ : program_.steps_).push_back(std::move(step));
}

bool Lowering::allowed(const std::string& candidate) const {
  const auto& only = program_.options_.only_kernels;
  return only.empty() || candidate == "reference" || candidate == "view" ||
         std::find(only.begin(), only.end(), candidate) != only.end();
}

std::unique_ptr<Kernel> Lowering::choose_kernel(const KernelRequest& request,
                                                std::vector<std::string>& declined) const {
  // oneDNN's choice of kernel, and what it plans, depends on the number of threads at the time it is asked.
  const FewerThreads fewer(request.threads);
  for (const KernelCandidate& candidate : kernel_candidates(request.node.op_name())) {
    if (!allowed(candidate.name)) {
      declined.push_back(candidate.name + ": not among the kernels asked for");
      continue;
    }
    std::string why;
    std::unique_ptr<Kernel> kernel;
    try {
      kernel = candidate.factory(request, why);
    } catch (const dnnl::error& error) {
      why = error.message;
    }
    if (kernel != nullptr) return kernel;
    declined.push_back(candidate.name + ": " + (why.empty() ? "declined" : why));
  }
  std::string text = describe(request.node) + ": no kernel can run it";
  for (const std::string& line : declined) text += "\n  " + line;
  throw Error(text);
}

namespace {

bool is_lazy_cast(const Node& node) {
  return node.op_name() == op::kCast && known_to_dnnl(node.input(0)->dtype()) &&
         known_to_dnnl(node.output()->dtype()) && is_floating(node.input(0)->dtype()) &&
         is_floating(node.output()->dtype()) && !has_empty_operand(node) && node.output()->shape().rank() <= 6;
}

}  // namespace

void Lowering::lower(const Node& node) {
  bool fixed = !node.op().impure && !node.inputs().empty();
  for (const Value* input : node.inputs()) {
    if (input != nullptr && !values_.at(input).fixed) fixed = false;
  }
  if (is_lazy_cast(node)) {
    values_[node.output()] = {{}, fixed, node.input(0), -1};
    return;
  }
  // Who asks for kernels by name wants to see them as they are, with all threads.
  const bool by_name = !program_.options_.only_kernels.empty();
  const int threads = program_.options_.threads;
  KernelRequest request{node, {}, by_name ? threads : worthwhile_threads(node, threads), {}};
  request.strict_math = program_.options_.math == Math::kStrict;
  request.by_name = by_name;
  bool unmeasured = false;
  if (program_.options_.tuning == Tuning::kMeasured && !request.by_name) request.tuner = &Tuner::for_this_cpu();
  if (program_.options_.tune_later) request.unmeasured = &unmeasured;
  request.content = [&](size_t index) { return content(node.input(index)); };
  for (const Value* input : node.inputs()) {
    request.inputs.push_back(input != nullptr ? primary_layout(input) : Layout());
    request.input_is_fixed.push_back(input != nullptr && values_.at(input).fixed);
  }
  Step step;
  step.node = &node;
  step.label = node.name();
  step.threads = request.threads;
  step.kernel = choose_kernel(request, step.declined);
  if (unmeasured && !fixed) program_.unmeasured_.push_back(lasting(request));
  TW_REQUIRE(step.kernel->inputs.size() == node.inputs().size() && step.kernel->outputs.size() == node.outputs().size(),
             describe(node), ": kernel ", step.kernel->name, " describes another number of operands");
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* input = node.input(i);
    const std::vector<int>& unread = step.kernel->unread;
    const bool read = std::find(unread.begin(), unread.end(), static_cast<int>(i)) == unread.end();
    step.inputs.push_back(input != nullptr && read ? materialize(input, step.kernel->inputs[i]) : -1);
  }
  for (DerivedInput& derived : step.kernel->derived) {
    step.inputs.push_back(derive(node.input(static_cast<size_t>(derived.input)), derived));
  }
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const Layout& layout = step.kernel->outputs[i];
    TW_REQUIRE(layout.bytes() <= memory_limit(), describe(node), ": its result, ", layout.type(), ", takes ",
               human_bytes(static_cast<double>(layout.bytes())), ", more than the limit of memory");
    const int buffer = new_buffer(fixed ? Buffer::Kind::kPersistent : Buffer::Kind::kArena, layout.bytes());
    step.outputs.push_back(buffer);
    values_[node.output(i)] = {{{layout, buffer}}, fixed, nullptr, -1};
  }
  add_step(std::move(step), fixed);
}

KernelRequest Lowering::lasting(const KernelRequest& request) const {
  KernelRequest result = request;
  result.unmeasured = nullptr;
  const Value* weights = weights_behind(request.node.input(1));
  if (weights != nullptr && weights->kind() == Value::Kind::kConstant) {
    result.content = [weights](size_t) { return weights->data(); };
  } else if (const auto found = values_.find(weights); found != values_.end() && found->second.variable >= 0) {
    const auto index = static_cast<size_t>(found->second.variable);
    result.content = [variables = program_.variables_, index](size_t) { return variables->view(index); };
  } else {
    result.content = nullptr;
  }
  return result;
}

bool Lowering::reads_late_input(const Node& node) const {
  const auto& inputs = program_.graph_->inputs();
  return std::any_of(inputs.end() - static_cast<std::ptrdiff_t>(program_.options_.late_inputs), inputs.end(),
                     [&](const Value* late) {
                       return std::find(node.inputs().begin(), node.inputs().end(), late) != node.inputs().end();
                     });
}

void Lowering::pause() {
  paused_ = true;
  for (size_t i = 0; i < program_.options_.early_outputs; ++i) {
    const Value* output = program_.graph_->outputs()[i];
    TW_REQUIRE(values_.count(output) > 0, "output '", output->name(), "' of ", program_.graph_->name(),
               " follows what reads a late input");
    materialize(output, Layout(output->type()));
  }
  program_.pause_step_ = program_.steps_.size();
}

void Lowering::finish_outputs() {
  const Graph& graph = *program_.graph_;
  for (const Value* output : graph.outputs()) {
    program_.outputs_.push_back(materialize(output, Layout(output->type())));
  }
  for (const auto& [state, value] : graph.assignments()) {
    const size_t index = program_.variables_->index(state->name());
    program_.assignments_.emplace_back(index, materialize(value, program_.variables_->layout(index)));
  }
  for (size_t i = 0; i < program_.variables_->size(); ++i) {
    if (graph.find(program_.variables_->name(i)) != nullptr) program_.variables_->pin(i);
  }
}

void Lowering::finish_gradients() {
  for (const Gradient& gradient : program_.graph_->gradients()) {
    GradientSlot slot;
    slot.variable = program_.variables_->index(gradient.parameter->name());
    slot.sparse = gradient.is_sparse();
    if (slot.sparse) {
      slot.indices = materialize(gradient.indices, Layout(gradient.indices->type()));
      slot.rows = materialize(gradient.rows, Layout(gradient.rows->type()));
      slot.num_rows = gradient.indices->shape().num_elements();
    } else {
      slot.dense = materialize(gradient.dense, program_.variables_->layout(slot.variable));
    }
    program_.gradients_.push_back(slot);
  }
}

}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstring>
#include <map>

#include "base/threads.h"
#include "runtime/program.h"

namespace thalweg {

struct Session::BoundStep {
  const Step* step = nullptr;
  std::unique_ptr<KernelState> state;
  std::vector<void*> inputs;
  std::vector<void*> outputs;
  void* scratch = nullptr;
  /// Positions among `inputs` that are program inputs, whose addresses change with every run.
  std::vector<std::pair<size_t, size_t>> external;
  std::vector<const GradientSlot*> gradients;
};

Session::Session(std::shared_ptr<Program> program) : program_(std::move(program)), arena_(program_->arena_bytes()) {
  bind();
}

Session::~Session() = default;

void* Session::address(int buffer) const {
  if (buffer < 0) return nullptr;
  const Buffer& entry = program_->buffers()[static_cast<size_t>(buffer)];
  switch (entry.kind) {
    case Buffer::Kind::kArena: return static_cast<char*>(arena_.data()) + entry.place;
    case Buffer::Kind::kPersistent: return static_cast<char*>(program_->persistent_memory()) + entry.place;
    case Buffer::Kind::kVariable: return program_->variables().data(entry.place);
    case Buffer::Kind::kConstant: return entry.constant.raw();
    case Buffer::Kind::kInput: return const_cast<void*>(input_addresses_[entry.place]);
    case Buffer::Kind::kOnce: raise("a step reads memory of what runs once");
  }
  return nullptr;
}

void Session::bind() {
  input_addresses_.assign(program_->graph().inputs().size(), nullptr);
  std::multimap<int, const GradientSlot*> by_step;
  for (const GradientSlot& slot : program_->gradients()) by_step.emplace(slot.ready_step, &slot);
  const auto& steps = program_->steps();
  bound_.resize(steps.size());
  for (size_t s = 0; s < steps.size(); ++s) {
    BoundStep& bound = bound_[s];
    bound.step = &steps[s];
    bound.state = steps[s].kernel->new_state();
    for (size_t i = 0; i < steps[s].inputs.size(); ++i) {
      const int buffer = steps[s].inputs[i];
      bound.inputs.push_back(address(buffer));
      if (buffer < 0) continue;
      const Buffer& entry = program_->buffers()[static_cast<size_t>(buffer)];
      if (entry.kind == Buffer::Kind::kInput) bound.external.emplace_back(i, entry.place);
    }
    for (int buffer : steps[s].outputs) bound.outputs.push_back(address(buffer));
    bound.scratch = address(steps[s].scratch);
    const auto [first, last] = by_step.equal_range(static_cast<int>(s));
    for (auto it = first; it != last; ++it) bound.gradients.push_back(it->second);
  }
  seconds_.assign(steps.size(), 0.0);
}

std::vector<Tensor> Session::run(std::span<const Tensor> inputs, const GradientCallback& on_gradient) {
  const Graph& graph = program_->graph();
  TW_REQUIRE(inputs.size() == graph.inputs().size(), "program of ", graph.name(), " takes ", graph.inputs().size(),
             " inputs, got ", inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    TW_REQUIRE(inputs[i].defined() && inputs[i].type() == graph.inputs()[i]->type(), "input '",
               graph.inputs()[i]->name(), "' was compiled for ", graph.inputs()[i]->type(), ", got ", inputs[i].type());
    input_addresses_[i] = inputs[i].raw();
  }
  use_threads(program_->options().threads);
  program_->prepare();

  using Clock = std::chrono::steady_clock;
  for (size_t s = 0; s < bound_.size(); ++s) {
    BoundStep& bound = bound_[s];
    for (const auto& [position, place] : bound.external)
      bound.inputs[position] = const_cast<void*>(input_addresses_[place]);
    const auto begin = profile_ ? Clock::now() : Clock::time_point();
    if (bound.step->kernel->alias_of_input < 0) {
      bound.step->kernel->run(
          {bound.inputs, bound.outputs, bound.scratch, bound.state.get(), program_->options().threads, step_});
    }
    if (profile_) seconds_[s] += std::chrono::duration<double>(Clock::now() - begin).count();
    if (!on_gradient) continue;
    for (const GradientSlot* slot : bound.gradients) {
      const size_t bytes = slot->sparse ? 0 : program_->buffers()[static_cast<size_t>(slot->dense)].bytes;
      on_gradient({slot->variable, static_cast<float*>(address(slot->dense)), bytes / sizeof(float),
                   static_cast<const int64_t*>(address(slot->indices)), static_cast<const float*>(address(slot->rows)),
                   slot->num_rows, slot->own_memory});
    }
  }
  std::vector<Tensor> results;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    results.emplace_back(graph.outputs()[i]->type());
    std::memcpy(results.back().raw(), address(program_->outputs()[i]), results.back().num_bytes());
  }
  for (const auto& [variable, buffer] : program_->assignments()) {
    std::memcpy(program_->variables().data(variable), address(buffer), program_->variables().layout(variable).bytes());
  }
  if (!program_->assignments().empty()) program_->variables().touch();
  ++step_;
  if (profile_) ++profiled_runs_;
  return results;
}

void Session::enable_profile() {
  profile_ = true;
  profiled_runs_ = 0;
  std::fill(seconds_.begin(), seconds_.end(), 0.0);
}

std::vector<double> Session::step_milliseconds() const {
  std::vector<double> result;
  for (double seconds : seconds_)
    result.push_back(profiled_runs_ > 0 ? seconds * 1e3 / static_cast<double>(profiled_runs_) : 0);
  return result;
}

}  // namespace thalweg

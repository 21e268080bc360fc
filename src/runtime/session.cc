// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstring>
#include <map>

#include "base/flush_denormals.h"
#include "base/threads.h"
#include "graph/op_registry.h"
#include "runtime/program.h"

namespace thalweg {

struct Session::BoundStep {
  const Step* step = nullptr;
  std::unique_ptr<KernelState> state;
  std::vector<void*> inputs;
  std::vector<void*> outputs;
  void* scratch = nullptr;
  /// It is a product of many numbers, to which those too small for full precision add nothing.
  bool multiplies = false;
  /// Positions among `inputs` that are program inputs, whose addresses change with every run.
  std::vector<std::pair<size_t, size_t>> external;
  std::vector<const GradientSlot*> gradients;
};

Session::Session(std::shared_ptr<Program> program, std::nullptr_t) : program_(std::move(program)) { bind(); }

Session::Session(std::shared_ptr<Program> program) : Session(std::move(program), nullptr) {
  lend(AlignedBuffer(program_->arena_bytes()));
}

void Session::lend(AlignedBuffer memory) {
  arena_ = std::move(memory);
  if (arena_.data() != bound_arena_) bind_addresses();
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
    bound.multiplies = steps[s].node != nullptr && steps[s].node->op().has(Trait::kComputesInBf16);
    for (size_t i = 0; i < steps[s].inputs.size(); ++i) {
      const int buffer = steps[s].inputs[i];
      if (buffer < 0) continue;
      const Buffer& entry = program_->buffers()[static_cast<size_t>(buffer)];
      if (entry.kind == Buffer::Kind::kInput) bound.external.emplace_back(i, entry.place);
    }
    const auto [first, last] = by_step.equal_range(static_cast<int>(s));
    for (auto it = first; it != last; ++it) bound.gradients.push_back(it->second);
  }
  seconds_.assign(steps.size(), 0.0);
  bind_addresses();
}

void Session::bind_addresses() {
  for (BoundStep& bound : bound_) {
    bound.inputs.clear();
    bound.outputs.clear();
    for (const int buffer : bound.step->inputs) bound.inputs.push_back(address(buffer));
    for (const int buffer : bound.step->outputs) bound.outputs.push_back(address(buffer));
    bound.scratch = address(bound.step->scratch);
  }
  bound_arena_ = arena_.data();
}

void Session::set_inputs(size_t first, std::span<const Tensor> inputs) {
  const Graph& graph = program_->graph();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& expected = *graph.inputs()[first + i];
    TW_REQUIRE(inputs[i].defined() && inputs[i].type() == expected.type(), "input '", expected.name(),
               "' was compiled for ", expected.type(), ", got ", inputs[i].type());
    input_addresses_[first + i] = inputs[i].raw();
  }
}

void Session::run_steps(size_t first, size_t last, const GradientCallback& on_gradient) {
  using Clock = std::chrono::steady_clock;
  const ThreadLease lease(program_->options().threads);
  for (size_t s = first; s < last; ++s) {
    BoundStep& bound = bound_[s];
    for (const auto& [position, place] : bound.external)
      bound.inputs[position] = const_cast<void*>(input_addresses_[place]);
    const auto begin = profile_ ? Clock::now() : Clock::time_point();
    if (bound.step->kernel->alias_of_input < 0) {
      const FewerThreads fewer(bound.step->threads);
      const FlushDenormals flush(bound.multiplies);
      bound.step->kernel->run(
          {bound.inputs, bound.outputs, bound.scratch, bound.state.get(), bound.step->threads, step_});
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
}

std::vector<Tensor> Session::read_outputs(size_t first, size_t last) const {
  const Graph& graph = program_->graph();
  std::vector<Tensor> results;
  for (size_t i = first; i < last; ++i) {
    results.emplace_back(graph.outputs()[i]->type());
    std::memcpy(results.back().raw(), address(program_->outputs()[i]), results.back().num_bytes());
  }
  return results;
}

void Session::end_run() {
  for (const auto& [variable, buffer] : program_->assignments()) {
    std::memcpy(program_->variables().data(variable), address(buffer), program_->variables().layout(variable).bytes());
  }
  if (!program_->assignments().empty()) program_->variables().touch();
  ++step_;
  if (profile_) ++profiled_runs_;
}

std::vector<Tensor> Session::run(std::span<const Tensor> inputs, const GradientCallback& on_gradient) {
  const Graph& graph = program_->graph();
  TW_REQUIRE(program_->options().late_inputs == 0, "program of ", graph.name(), " runs in two halves");
  TW_REQUIRE(inputs.size() == graph.inputs().size(), "program of ", graph.name(), " takes ", graph.inputs().size(),
             " inputs, got ", inputs.size());
  set_inputs(0, inputs);
  program_->prepare();
  run_steps(0, bound_.size(), on_gradient);
  std::vector<Tensor> results = read_outputs(0, graph.outputs().size());
  end_run();
  return results;
}

std::vector<Tensor> Session::begin(std::span<const Tensor> inputs) {
  const Graph& graph = program_->graph();
  const size_t early = graph.inputs().size() - program_->options().late_inputs;
  TW_REQUIRE(inputs.size() == early, "the first half of a run of ", graph.name(), " takes ", early, " inputs, got ",
             inputs.size());
  set_inputs(0, inputs);
  held_inputs_.assign(inputs.begin(), inputs.end());
  program_->prepare();
  paused_ = false;
  run_steps(0, program_->pause_step(), nullptr);
  paused_ = true;
  return read_outputs(0, program_->options().early_outputs);
}

std::vector<Tensor> Session::finish(std::span<const Tensor> late_inputs) {
  const Graph& graph = program_->graph();
  TW_REQUIRE(paused_, "the second half of a run of ", graph.name(), " follows a first half, once");
  const size_t late = program_->options().late_inputs;
  TW_REQUIRE(late_inputs.size() == late, "the second half of a run of ", graph.name(), " takes ", late, " inputs, got ",
             late_inputs.size());
  set_inputs(graph.inputs().size() - late, late_inputs);
  paused_ = false;
  run_steps(program_->pause_step(), bound_.size(), nullptr);
  std::vector<Tensor> results = read_outputs(program_->options().early_outputs, graph.outputs().size());
  held_inputs_.clear();
  end_run();
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

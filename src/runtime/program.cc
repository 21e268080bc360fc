// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/program.h"

#include "base/threads.h"
#include "runtime/lowering.h"
#include "runtime/tuner.h"

namespace thalweg {

std::shared_ptr<Program> Program::compile(std::unique_ptr<Graph> graph, std::shared_ptr<Variables> variables,
                                          const CompileOptions& options) {
  std::shared_ptr<Program> program(new Program());
  program->graph_ = std::move(graph);
  program->variables_ = std::move(variables);
  program->options_ = options;
  if (program->options_.threads == 0) program->options_.threads = available_processors();
  const ThreadLease lease(program->options_.threads);
  Lowering(*program).run();
  if (options.tuning == Tuning::kMeasured) Tuner::for_this_cpu().keep();
  return program;
}

void Program::prepare() {
  const std::lock_guard<std::mutex> lock(prepare_mutex_);
  if (prepared_version_ == variables_->version()) return;
  const ThreadLease lease(options_.threads);
  const AlignedBuffer once(once_bytes_);
  // Weights that are stored elsewhere are in memory only while a step reads them.
  std::vector<std::shared_ptr<const void>> borrowed;
  const auto address = [&](int buffer) -> void* {
    if (buffer < 0) return nullptr;
    const Buffer& entry = buffers_[static_cast<size_t>(buffer)];
    switch (entry.kind) {
      case Buffer::Kind::kVariable:
        borrowed.push_back(variables_->borrow(entry.place));
        return const_cast<void*>(borrowed.back().get());
      case Buffer::Kind::kConstant: return entry.constant.raw();
      case Buffer::Kind::kPersistent: return static_cast<char*>(persistent_memory()) + entry.place;
      case Buffer::Kind::kOnce: return static_cast<char*>(once.data()) + entry.place;
      default: raise("a step that runs once reads a value that changes");
    }
  };
  for (const Step& step : prologue_) {
    if (step.kernel->alias_of_input >= 0) continue;
    std::vector<void*> in, out;
    for (int buffer : step.inputs) in.push_back(address(buffer));
    for (int buffer : step.outputs) out.push_back(address(buffer));
    const auto state = step.kernel->new_state();
    const FewerThreads fewer(step.threads);
    step.kernel->run({in, out, address(step.scratch), state.get(), step.threads, 0});
    borrowed.clear();
  }
  persistent_->made = true;
  prepared_version_ = variables_->version();
}

}  // namespace thalweg

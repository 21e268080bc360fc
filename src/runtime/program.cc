// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/program.h"

#include "base/text.h"
#include "base/threads.h"
#include "base/warning.h"
#include "runtime/lowering.h"

namespace thalweg {
namespace {

/// Instruction sets are sums of bits, each including those it builds upon.
bool cpu_computes_in_bf16() {
  constexpr auto needed = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & needed) == needed;
}

bool holds_bf16(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    for (const Value* output : node->outputs()) {
      if (output->dtype() == DType::kBF16) return true;
    }
  }
  return false;
}

void warn_of_slow_bf16(const Graph& graph) {
  if (cpu_computes_in_bf16() || !holds_bf16(graph)) return;
  warn_once(
      "bf16 was asked for, but this CPU has no bf16 instructions (AVX512_BF16 or AMX): results are those of bf16, at "
      "no "
      "more, and usually less, than the speed of f32");
}

}  // namespace

std::shared_ptr<Program> Program::compile(std::unique_ptr<Graph> graph, std::shared_ptr<Variables> variables,
                                          const CompileOptions& options) {
  std::shared_ptr<Program> program(new Program());
  program->graph_ = std::move(graph);
  program->variables_ = std::move(variables);
  program->options_ = options;
  warn_of_slow_bf16(program->graph());
  if (program->options_.threads == 0) program->options_.threads = available_processors();
  // oneDNN's choice of kernel depends on the number of threads at the time it is asked.
  use_threads(program->options_.threads);
  Lowering(*program).run();
  program->persistent_ = AlignedBuffer(program->persistent_bytes_);
  return program;
}

void Program::prepare() {
  const std::lock_guard<std::mutex> lock(prepare_mutex_);
  if (prepared_version_ == variables_->version()) return;
  const auto address = [&](int buffer) -> void* {
    if (buffer < 0) return nullptr;
    const Buffer& entry = buffers_[static_cast<size_t>(buffer)];
    switch (entry.kind) {
      case Buffer::Kind::kVariable: return variables_->data(entry.place);
      case Buffer::Kind::kConstant: return entry.constant.raw();
      case Buffer::Kind::kPersistent: return static_cast<char*>(persistent_.data()) + entry.place;
      default: raise("a step that runs once reads a value that changes");
    }
  };
  for (const Step& step : prologue_) {
    if (step.kernel->alias_of_input >= 0) continue;
    std::vector<void*> in, out;
    for (int buffer : step.inputs) in.push_back(address(buffer));
    for (int buffer : step.outputs) out.push_back(address(buffer));
    const auto state = step.kernel->new_state();
    step.kernel->run({in, out, address(step.scratch), state.get(), options_.threads, 0});
  }
  prepared_version_ = variables_->version();
}

namespace {

void explain_steps(std::ostream& out, const std::vector<Step>& steps, std::span<const double> milliseconds) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    out << "  " << (step.node != nullptr ? step.node->op_name() : "-") << ' ' << step.label << ": "
        << step.kernel->name;
    for (const Layout& layout : step.kernel->outputs) out << " -> " << layout.to_string() << ' ' << layout.shape();
    if (step.kernel->alias_of_input >= 0) out << " (view)";
    if (i < milliseconds.size()) {
      char text[32];
      std::snprintf(text, sizeof text, "  %.3f ms", milliseconds[i]);
      out << text;
    }
    out << '\n';
    for (const std::string& reason : step.declined) out << "      declined " << reason << '\n';
  }
}

}  // namespace

std::string Program::explain(std::span<const double> milliseconds) const {
  std::ostringstream out;
  out << "program of " << graph_->name() << ": " << steps_.size() << " steps, " << prologue_.size()
      << " run once, threads " << options_.threads << ", arena " << human_bytes(static_cast<double>(arena_bytes_))
      << ", derived weights " << human_bytes(static_cast<double>(persistent_bytes_)) << '\n';
  if (!prologue_.empty()) out << "once:\n";
  explain_steps(out, prologue_, {});
  out << "each run:\n";
  explain_steps(out, steps_, milliseconds);
  return out.str();
}

}  // namespace thalweg

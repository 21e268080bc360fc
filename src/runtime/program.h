// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/kernel.h"
#include "runtime/variables.h"
#include "thalweg/passes.h"
#include "thalweg/profile.h"

namespace thalweg {

struct CompileOptions {
  /// 0: what the machine and its control group allow.
  int threads = 0;
  /// Parameters change between runs (training). Otherwise they count as fixed and what depends on them alone is
  /// computed once.
  bool training = false;
  /// Gradients stay valid until the run ends, rather than only during the callback that announces them.
  bool keep_gradients = false;
  /// Strict: no algorithm whose rounding differs from that of the plain sum (Winograd's convolution).
  Math math = Math::kFast;
  Tuning tuning = Tuning::kFixed;
  /// With measured tuning: nothing is measured while the program is compiled, which would take longer than many runs.
  /// What is not known is chosen by the rule; Program::unmeasured says what that was.
  bool tune_later = false;
  /// The last so many inputs are given to Session::finish only: a run pauses before the first step that reads one, and
  /// gives the first so many outputs, which must not depend on them.
  size_t late_inputs = 0;
  size_t early_outputs = 0;
  /// The only candidates to use, for tests, beside "reference", which alone means to use nothing else.
  std::vector<std::string> only_kernels;
};

/// Where a value lives while a program runs.
struct Buffer {
  /// kOnce: made and read by what runs once, and by nothing else; its memory exists only meanwhile.
  enum class Kind { kArena, kInput, kVariable, kConstant, kPersistent, kOnce };
  Kind kind = Kind::kArena;
  size_t bytes = 0;
  /// Input number or variable index; for arena, persistent and once buffers the offset once planned.
  size_t place = 0;
  Tensor constant;
  int first_step = -1;
  int last_step = -1;
  /// The buffer whose memory this one shares (itself if none).
  int root = 0;
};

struct Step {
  /// Null for a reorder that the runtime put in.
  const Node* node = nullptr;
  std::string label;
  std::unique_ptr<Kernel> kernel;
  std::vector<int> inputs;   ///< buffer numbers, -1 where absent
  std::vector<int> outputs;  ///< -1 where nobody reads it
  int scratch = -1;
  int threads = 0;  ///< with which it was made and is run
  /// Why better candidates declined, a line each.
  std::vector<std::string> declined;
};

struct GradientSlot {
  size_t variable = 0;
  bool sparse = false;
  int dense = -1;
  int indices = -1;
  int rows = -1;
  int64_t num_rows = 0;
  /// After this step the gradient is final and no later step reads the parameter.
  int ready_step = 0;
  /// Nobody but the gradient's receiver reads its memory after that step.
  bool own_memory = false;
};

/// A graph compiled for fixed shapes, threads and kernels, over the weights of a Variables object. Immutable but for
/// the values derived from fixed weights, which `prepare` renews; many sessions may run one program at the same time.
class Program {
 public:
  /// `graph` must be static (Graph::specialize). Layouts of variables that are not pinned yet are chosen here.
  static std::shared_ptr<Program> compile(std::unique_ptr<Graph> graph, std::shared_ptr<Variables> variables,
                                          const CompileOptions& options = {});

  const Graph& graph() const { return *graph_; }
  Variables& variables() const { return *variables_; }
  const CompileOptions& options() const { return options_; }
  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<Step>& prologue() const { return prologue_; }
  const std::vector<Buffer>& buffers() const { return buffers_; }
  const std::vector<GradientSlot>& gradients() const { return gradients_; }
  /// What kernels were chosen for by the rule because nobody has measured on this CPU which is fastest. Lasts as long
  /// as the program.
  const std::vector<KernelRequest>& unmeasured() const { return unmeasured_; }
  /// Buffer of each graph output, row-major.
  const std::vector<int>& outputs() const { return outputs_; }
  /// (variable, buffer) pairs copied at the end of a run.
  const std::vector<std::pair<size_t, int>>& assignments() const { return assignments_; }
  /// The first step of the second half of a run; with no late inputs there is none.
  size_t pause_step() const { return pause_step_; }
  size_t arena_bytes() const { return arena_bytes_; }
  size_t persistent_bytes() const { return persistent_bytes_; }
  void* persistent_memory() const { return persistent_->memory.data(); }

  /// Runs the prologue if the variables changed since it last ran. Thread-safe among sessions.
  void prepare();

  /// With times if `milliseconds` (per step) is given.
  ProgramProfile profile(std::span<const double> milliseconds = {}) const;
  /// The profile as text.
  std::string explain(std::span<const double> milliseconds = {}) const;

 private:
  friend class Lowering;
  Program() = default;

  std::unique_ptr<Graph> graph_;
  std::shared_ptr<Variables> variables_;
  CompileOptions options_;
  std::vector<Step> steps_;
  std::vector<Step> prologue_;
  std::vector<Buffer> buffers_;
  std::vector<GradientSlot> gradients_;
  std::vector<KernelRequest> unmeasured_;
  std::vector<int> outputs_;
  std::vector<std::pair<size_t, int>> assignments_;
  size_t pause_step_ = 0;
  size_t arena_bytes_ = 0;
  size_t persistent_bytes_ = 0;
  size_t once_bytes_ = 0;
  std::shared_ptr<WeightBlock> persistent_;
  std::mutex prepare_mutex_;
  uint64_t prepared_version_ = 0;
};

/// A final gradient, valid during the callback (until the end of the run with keep_gradients).
struct GradientView {
  size_t variable = 0;
  /// In the layout of the variable, padding included; null if sparse.
  float* dense = nullptr;
  size_t num_floats = 0;
  const int64_t* indices = nullptr;
  const float* rows = nullptr;
  int64_t num_rows = 0;
  /// The receiver may change a dense one where it is.
  bool own_memory = false;
};
using GradientCallback = std::function<void(const GradientView&)>;

/// One execution at a time of a program: owns the arena. Make one per thread that runs the program.
class Session {
 public:
  explicit Session(std::shared_ptr<Program> program);
  /// With no memory to run in yet: `lend` gives it.
  Session(std::shared_ptr<Program> program, std::nullptr_t memory);
  ~Session();

  /// Memory for the runs that come, of Program::arena_bytes at least.
  void lend(AlignedBuffer memory);
  AlignedBuffer take_back() { return std::move(arena_); }

  /// Runs the program. `inputs` must have exactly the types it was compiled for. Returns the graph outputs.
  /// `on_gradient` is called from this thread as soon as a gradient is final.
  std::vector<Tensor> run(std::span<const Tensor> inputs, const GradientCallback& on_gradient = nullptr);

  /// A run in two halves, for a program with late inputs: `begin` takes the others and gives the outputs that depend on
  /// them alone, `finish` takes the late ones and gives the rest. The inputs of `begin` are kept for the second half,
  /// which may be left out.
  std::vector<Tensor> begin(std::span<const Tensor> inputs);
  std::vector<Tensor> finish(std::span<const Tensor> late_inputs);

  /// Output `index` of the run under way, for a gradient callback; meaningful once the step that makes it has run.
  const void* output_data(size_t index) const { return address(program_->outputs()[index]); }

  /// Times every step from now on.
  void enable_profile();
  /// Mean milliseconds of each step since enable_profile.
  std::vector<double> step_milliseconds() const;
  Program& program() const { return *program_; }
  /// Where values lie while a run is under way; in between anybody may use it.
  std::span<std::byte> idle_memory() const { return {static_cast<std::byte*>(arena_.data()), arena_.bytes()}; }
  /// What random ops mix into their seeds; a resumed run sets it to continue the same sequence.
  void set_step(uint64_t step) { step_ = step; }
  uint64_t step() const { return step_; }

 private:
  struct BoundStep;
  void* address(int buffer) const;
  void bind();
  void bind_addresses();
  /// Takes the addresses of inputs from the one numbered `first` on.
  void set_inputs(size_t first, std::span<const Tensor> inputs);
  void run_steps(size_t first, size_t last, const GradientCallback& on_gradient);
  std::vector<Tensor> read_outputs(size_t first, size_t last) const;
  /// States take their new values; the run counts.
  void end_run();

  std::shared_ptr<Program> program_;
  AlignedBuffer arena_;
  /// Where the arena was when addresses were bound.
  const void* bound_arena_ = nullptr;
  std::vector<BoundStep> bound_;
  std::vector<const void*> input_addresses_;
  /// Those of a run that has paused.
  std::vector<Tensor> held_inputs_;
  bool paused_ = false;
  uint64_t step_ = 0;
  bool profile_ = false;
  std::vector<double> seconds_;
  int64_t profiled_runs_ = 0;
};

}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/ids.h"
#include "runtime/layout.h"
#include "thalweg/graph.h"

namespace thalweg {

class Tuner;

/// What a kernel candidate is told about the node it is to execute.
struct KernelRequest {
  const Node& node;
  /// How each input lies in memory as its producer left it; an absent input has a default Layout. A kernel is free to
  /// ask for another layout: the runtime then inserts a reorder, which costs a pass over memory.
  std::vector<Layout> inputs;
  int threads = 1;
  /// Inputs that never change between runs (weights at inference, constants): reordering them is free.
  std::vector<bool> input_is_fixed;
  /// Algorithms whose rounding differs from that of the plain sum are not wanted.
  bool strict_math = false;
  /// The caller asked for this candidate by name: it declines only what it cannot do, not what it does slowly.
  bool by_name = false;
  /// For candidates that can measure how they would do best; null: by a rule that depends on shapes alone.
  Tuner* tuner = nullptr;
  /// Not null: what nobody has measured yet is chosen by the rule for now, and this becomes true.
  bool* unmeasured = nullptr;
  /// The present content of a parameter or constant that is input `index`, up to a factor per output channel (a folded
  /// batch norm); undefined for other values. Null where nobody offers it.
  std::function<Tensor(size_t index)> content = nullptr;
};

/// Memory of a run that belongs to one kernel in one session (such as oneDNN memory objects), made by
/// Kernel::new_state.
struct KernelState {
  virtual ~KernelState() = default;
};

struct KernelArguments {
  std::span<void* const> inputs;   ///< null for absent inputs
  std::span<void* const> outputs;  ///< null for outputs that nobody reads, unless Kernel::needs_all_outputs
  void* scratch = nullptr;
  KernelState* state = nullptr;
  int threads = 1;
  /// Grows by one with each run of a session: what random ops mix into their seed.
  uint64_t step = 0;
};

class Kernel;

/// Something that a kernel reads beside its inputs and that depends on one of them alone (transformed weights). It is
/// made once if that input is fixed, otherwise in every run, by a step of its own before the kernel's.
struct DerivedInput {
  int input = 0;
  /// One input, one output.
  std::unique_ptr<Kernel> kernel;
};

/// An executable form of one node for fixed shapes and layouts. Immutable once made: `run` may be called from several
/// threads with different arguments.
class Kernel {
 public:
  /// `layouts` of the inputs the kernel must get, and of the outputs it will leave.
  std::string name;
  std::vector<Layout> inputs;
  std::vector<Layout> outputs;
  size_t scratch_bytes = 0;
  /// Pairs (input, output) that may share memory if nobody reads the input afterwards.
  std::vector<std::pair<int, int>> in_place;
  /// Inputs of which only shape and layout matter: they are not read, so their memory need not outlive their readers.
  std::vector<int> unread;
  /// They follow the node's inputs in KernelArguments::inputs.
  std::vector<DerivedInput> derived;
  /// If not negative, output 0 is that input's memory seen with another shape, and `run` is not called.
  int alias_of_input = -1;

  virtual ~Kernel() = default;
  virtual std::unique_ptr<KernelState> new_state() const { return nullptr; }
  virtual void run(const KernelArguments& arguments) const = 0;
};

/// Tries to make a kernel. Returns null and says why in `declined` if the node is not for it.
using KernelFactory = std::function<std::unique_ptr<Kernel>(const KernelRequest& request, std::string& declined)>;

/// Candidates of an op are tried in order of decreasing priority. The reference kernel has the lowest.
enum class KernelPriority { kReference = 0, kNative = 10, kOneDnn = 20, kAheadOfOneDnn = 25, kSpecial = 30 };

/// Registers at start-up: `static const RegisterKernel k(op::kConv, "onednn", KernelPriority::kOneDnn, factory);`
struct RegisterKernel {
  RegisterKernel(const std::string& op, const std::string& name, KernelPriority priority, KernelFactory factory);
};

struct KernelCandidate {
  std::string name;
  int priority = 0;
  KernelFactory factory;
};
/// Best first.
const std::vector<KernelCandidate>& kernel_candidates(const std::string& op);

/// A kernel made of a function, for simple cases: set the layouts, give the body.
class FunctionKernel : public Kernel {
 public:
  explicit FunctionKernel(std::function<void(const KernelArguments&)> body) : body_(std::move(body)) {}
  void run(const KernelArguments& arguments) const override { body_(arguments); }

 private:
  std::function<void(const KernelArguments&)> body_;
};

/// Row-major layouts for all outputs of a node.
std::vector<Layout> plain_outputs(const Node& node);
/// Row-major layouts for all inputs of a node (default Layout where absent).
std::vector<Layout> plain_inputs(const Node& node);
/// True if an input or output has no elements; fast kernels leave those to the reference kernel.
bool has_empty_operand(const Node& node);

}  // namespace thalweg

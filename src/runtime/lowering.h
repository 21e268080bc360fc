// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>

#include "runtime/program.h"

namespace thalweg {

/// Turns a static graph into the steps of a Program: picks a kernel per node, lets layouts flow from producer to
/// consumer, puts reorders where they do not meet, and plans the memory. Used once, by Program::compile.
class Lowering {
 public:
  explicit Lowering(Program& program) : program_(program) {}
  void run();

 private:
  /// One arrangement of a value that exists in some buffer.
  struct Version {
    Layout layout;
    int buffer = -1;
  };
  struct ValueState {
    std::vector<Version> versions;
    /// The content never changes between runs.
    bool fixed = false;
    /// A conversion that is carried out when somebody asks for it, together with the reorder that it needs anyway.
    const Value* lazy_source = nullptr;
    int variable = -1;
  };

  void add_sources();
  void lower(const Node& node);
  std::unique_ptr<Kernel> choose_kernel(const KernelRequest& request, std::vector<std::string>& declined) const;
  bool allowed(const std::string& candidate) const;
  /// The buffer that holds `value` in `layout`, after adding a reorder if there is none yet. `once`: only for what runs
  /// once, and need not stay.
  int materialize(const Value* value, const Layout& layout, bool once = false);
  /// A variable whose content can be fetched whenever a program wants it in another layout.
  bool stored_elsewhere(const ValueState& state) const;
  /// A further version of such a variable.
  int arranged(ValueState& state, const Layout& layout);
  /// The buffer that holds what `derived` makes of `value`, after adding the step that makes it.
  int derive(const Value* value, DerivedInput& derived);
  /// See KernelRequest::content.
  Tensor content(const Value* value) const;
  /// The request without what refers to this object: for one weight, as convolutions have it, the content is kept.
  KernelRequest lasting(const KernelRequest& request) const;
  Layout primary_layout(const Value* value) const;
  Version& source_version(const Value* value);
  void add_step(Step step, bool fixed);
  int new_buffer(Buffer::Kind kind, size_t bytes, size_t place = 0);

  /// Whether the second half of a run begins with this node at the latest.
  bool reads_late_input(const Node& node) const;
  /// Ends the first half of a run here: its outputs must be there.
  void pause();
  void finish_outputs();
  void finish_gradients();
  void set_lifetimes();
  void hold_variables();
  void share_memory();
  /// What other programs have derived from the weights is taken from them.
  void share_weights();
  /// What each buffer of fixed content holds, as a text that two programs have in common; "" if that cannot be said.
  std::vector<std::string> names_of_weights() const;
  /// Steps that run once and make nothing that is used.
  void remove_idle_prologue();
  void place_weights();
  void find_once_buffers();
  void place_buffers();
  /// Plans all buffers of a kind that are used by their lifetimes; gives the bytes they need.
  size_t place_by_lifetime(Buffer::Kind kind);
  int root_of(int buffer) const;
  void use(int buffer, int step);

  Program& program_;
  std::unordered_map<const Value*, ValueState> values_;
  /// Names and buffers of what this program is the first to derive.
  std::vector<std::pair<std::string, size_t>> named_weights_;
  bool paused_ = false;
  /// Last step that reads each variable's memory, by variable index.
  std::unordered_map<size_t, int> last_read_;
};

}  // namespace thalweg

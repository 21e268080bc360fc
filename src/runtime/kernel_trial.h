// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "runtime/aligned_buffer.h"
#include "runtime/kernel.h"

namespace thalweg {

/// What kernels that are tried one after another compute on: each has the same inputs and outputs, at most in another
/// layout. Nobody looks at the numbers.
class TrialMemory {
 public:
  enum class Use { kInput, kDerived, kOutput, kScratch };
  /// At least so many bytes; nullptr if that is none. Whoever asks for more than there are moves them.
  void* get(Use use, size_t index, size_t bytes);

 private:
  std::map<std::pair<Use, size_t>, AlignedBuffer> buffers_;
};

/// Runs a kernel by itself to see how long it takes.
class KernelTrial {
 public:
  /// What is made of fixed inputs counts as made before: the memory holds some numbers in its place. The memory must
  /// outlive the trial.
  KernelTrial(std::unique_ptr<Kernel> kernel, const std::vector<bool>& input_is_fixed, int threads,
              TrialMemory& memory);
  /// One run. Fixed inputs are thrown out of the caches first, as all the other layers of a model would do.
  double seconds();

 private:
  bool is_read(size_t input) const;
  void find_memory();
  void run_derived(size_t index);

  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<KernelState> state_;
  TrialMemory& memory_;
  std::vector<std::unique_ptr<KernelState>> derived_states_;
  std::vector<bool> fixed_;
  int threads_;
  // Where things are in the run that comes.
  std::vector<void*> inputs_, outputs_;
  void* scratch_ = nullptr;
};

}  // namespace thalweg

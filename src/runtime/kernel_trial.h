// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>

#include "runtime/aligned_buffer.h"
#include "runtime/kernel.h"

namespace thalweg {

/// What kernels that are tried one after another compute on. Nobody looks at the numbers.
class TrialMemory {
 public:
  enum class Use { kInput, kDerived, kOutput, kScratch };
  /// Memory that others do not need just now, of any content; until something else is lent.
  void lend(std::span<std::byte> memory) { lent_ = memory; }
  /// A run begins: what the one before got is free.
  void start() { taken_ = 0; }
  /// At least so many bytes; nullptr if that is none. From what is lent, or else memory of its own.
  void* get(Use use, size_t index, size_t bytes);

 private:
  std::span<std::byte> lent_;
  size_t taken_ = 0;
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

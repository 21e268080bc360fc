// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/aligned_buffer.h"
#include "runtime/kernel.h"

namespace thalweg {

/// Runs a kernel by itself, on memory of its own, to see how long it takes.
class KernelTrial {
 public:
  /// What is made of fixed inputs counts as made before.
  KernelTrial(std::unique_ptr<Kernel> kernel, const std::vector<bool>& input_is_fixed, int threads);
  /// One run. Fixed inputs are thrown out of the caches first, as all the other layers of a model would do.
  double seconds();

 private:
  void* make_memory(size_t bytes);
  void run_derived(size_t index);

  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<KernelState> state_;
  std::vector<AlignedBuffer> memory_;
  std::vector<void*> inputs_, outputs_, derived_scratch_;
  std::vector<std::unique_ptr<KernelState>> derived_states_;
  std::vector<bool> fixed_;
  void* scratch_ = nullptr;
  int threads_;
};

}  // namespace thalweg

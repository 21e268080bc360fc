// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel_trial.h"

#include <cpuid.h>
#include <immintrin.h>

#include <algorithm>
#include <chrono>

#include "base/flush_denormals.h"

namespace thalweg {
namespace {

constexpr size_t kLine = 64;

/// Lines leave side by side, not one after the other.
__attribute__((target("clflushopt"))) void drop_quickly(const char* at, size_t bytes) {
  for (size_t i = 0; i < bytes; i += kLine) _mm_clflushopt(const_cast<char*>(at) + i);
}

bool cpu_drops_quickly() {
  constexpr unsigned kExtendedFeatures = 7, kClflushOpt = 1U << 23;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(kExtendedFeatures, 0, &a, &b, &c, &d) != 0 && (b & kClflushOpt) != 0;
}

void drop_from_caches(const void* data, size_t bytes) {
  static const bool quickly = cpu_drops_quickly();
  const auto* at = static_cast<const char*>(data);
  if (quickly) {
    drop_quickly(at, bytes);
  } else {
    for (size_t i = 0; i < bytes; i += kLine) _mm_clflush(at + i);
  }
  _mm_mfence();
}

}  // namespace

void* TrialMemory::get(Use use, size_t index, size_t bytes) {
  if (bytes == 0) return nullptr;
  const size_t lines = (bytes + kLine - 1) / kLine * kLine;
  if (lines <= lent_.size() - std::min(taken_, lent_.size())) {
    taken_ += lines;
    return lent_.data() + taken_ - lines;
  }
  AlignedBuffer& buffer = buffers_[{use, index}];
  if (buffer.bytes() < bytes) {
    buffer = AlignedBuffer();
    buffer = AlignedBuffer(bytes);
    // Small numbers that are not denormal, and every page in place.
    std::fill_n(static_cast<float*>(buffer.data()), bytes / sizeof(float), 0.01f);
  }
  return buffer.data();
}

KernelTrial::KernelTrial(std::unique_ptr<Kernel> kernel, const std::vector<bool>& input_is_fixed, int threads,
                         TrialMemory& memory)
    : kernel_(std::move(kernel)),
      state_(kernel_->new_state()),
      memory_(memory),
      fixed_(input_is_fixed),
      threads_(threads) {
  fixed_.resize(kernel_->inputs.size(), false);
  for (const DerivedInput& derived : kernel_->derived) derived_states_.push_back(derived.kernel->new_state());
}

bool KernelTrial::is_read(size_t input) const {
  return std::find(kernel_->unread.begin(), kernel_->unread.end(), static_cast<int>(input)) == kernel_->unread.end();
}

void KernelTrial::find_memory() {
  using Use = TrialMemory::Use;
  memory_.start();
  inputs_.clear();
  outputs_.clear();
  for (size_t i = 0; i < kernel_->inputs.size(); ++i) {
    const bool needed = is_read(i) || !fixed_[i];
    inputs_.push_back(needed ? memory_.get(Use::kInput, i, kernel_->inputs[i].bytes()) : nullptr);
  }
  for (size_t i = 0; i < kernel_->outputs.size(); ++i) {
    outputs_.push_back(memory_.get(Use::kOutput, i, kernel_->outputs[i].bytes()));
  }
  for (size_t i = 0; i < kernel_->derived.size(); ++i) {
    inputs_.push_back(memory_.get(Use::kDerived, i, kernel_->derived[i].kernel->outputs[0].bytes()));
  }
  size_t scratch = kernel_->scratch_bytes;
  for (const DerivedInput& derived : kernel_->derived) scratch = std::max(scratch, derived.kernel->scratch_bytes);
  scratch_ = memory_.get(Use::kScratch, 0, scratch);
}

void KernelTrial::run_derived(size_t index) {
  const DerivedInput& derived = kernel_->derived[index];
  void* const input = inputs_[static_cast<size_t>(derived.input)];
  void* const output = inputs_[kernel_->inputs.size() + index];
  derived.kernel->run(
      {std::span(&input, 1), std::span(&output, 1), scratch_, derived_states_[index].get(), threads_, 0});
}

double KernelTrial::seconds() {
  find_memory();
  const size_t own = kernel_->inputs.size();
  for (size_t i = 0; i < own; ++i) {
    if (fixed_[i] && is_read(i)) drop_from_caches(inputs_[i], kernel_->inputs[i].bytes());
  }
  const auto is_fixed = [&](size_t i) { return fixed_[static_cast<size_t>(kernel_->derived[i].input)]; };
  for (size_t i = 0; i < kernel_->derived.size(); ++i) {
    if (is_fixed(i)) drop_from_caches(inputs_[own + i], kernel_->derived[i].kernel->outputs[0].bytes());
  }
  // As runs do. Numbers left in memory that is lent may be of that kind, too.
  const FlushDenormals flush;
  const auto begin = std::chrono::steady_clock::now();
  for (size_t i = 0; i < kernel_->derived.size(); ++i) {
    if (!is_fixed(i)) run_derived(i);
  }
  kernel_->run({inputs_, outputs_, scratch_, state_.get(), threads_, 0});
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace thalweg

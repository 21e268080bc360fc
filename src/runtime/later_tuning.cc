// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/later_tuning.h"

#include <algorithm>
#include <chrono>

#include "base/limits.h"
#include "base/threads.h"
#include "ops/conv_geometry.h"
#include "runtime/kernels/native/conv_forms.h"
#include "runtime/tuner.h"

namespace thalweg {
namespace {

/// What measuring may take on top of a run: about a millisecond, which is a quarter of a short run at most. Long runs
/// are bound by layers for which the rule is seldom wrong by much (1 to 3% of networks at batch 8), and whoever waits
/// 30 ms for each should not wait 37 for the first hundred of them; a sixteenth at least, so that it ends.
constexpr double kSeconds = 1e-3, kLeastShare = 1.0 / 16, kMostShare = 1.0 / 4;
/// A layer below this share of a run is not worth measuring: it would have to run thousands of times to pay for it.
constexpr double kWorthwhile = 0.003;
/// Multiplications in a second that a thread does at least where a layer is large enough to matter.
constexpr double kSpeed = 40e9;

/// Of a convolution or its data gradient.
double multiplications(const Node& node) {
  const ConvGeometry geometry = conv_geometry(node);
  return static_cast<double>(geometry.w.num_elements()) * static_cast<double>(geometry.y.num_elements()) /
         static_cast<double>(std::max<int64_t>(geometry.y[1], 1));
}

}  // namespace

LaterTuning::LaterTuning(std::shared_ptr<const Program> program, Tuner& tuner)
    : program_(std::move(program)), tuner_(tuner) {
  for (const KernelRequest& request : program_->unmeasured()) open_.push_back(&request);
  std::stable_sort(open_.begin(), open_.end(), [](const KernelRequest* a, const KernelRequest* b) {
    return multiplications(a->node) < multiplications(b->node);
  });
  settled_ = open_.empty();
}

bool LaterTuning::settled() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return settled_;
}

bool LaterTuning::after_run(double seconds, std::span<std::byte> memory) {
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || settled_) return false;
  // The first run arranges weights and touches memory for the first time; somebody waits for its answer.
  if (runs_++ == 0) return false;
  run_seconds_ = run_seconds_ == 0 ? seconds : std::min(run_seconds_, seconds);
  credit_ += std::clamp(kSeconds, kLeastShare * seconds, kMostShare * seconds);
  memory_.lend(memory);
  try {
    spend();
  } catch (const std::exception&) {
    credit_ = 0;  // such as a system that gives no threads just now; the run itself was right
  }
  memory_.lend({});
  return settled_ && changed_;
}

void LaterTuning::spend() {
  const ThreadLease lease(program_->options().threads);
  while (credit_ > 0 && !settled_) {
    const auto begin = std::chrono::steady_clock::now();
    measure();
    const auto spent = std::chrono::steady_clock::now() - begin;
    credit_ -= std::chrono::duration<double>(spent).count();
    extend_time(spent);
  }
}

bool LaterTuning::matters(const KernelRequest& request) const {
  return multiplications(request.node) / (kSpeed * request.threads) > kWorthwhile * run_seconds_;
}

void LaterTuning::measure() {
  try {
    if (race_) {
      race_->advance();
      if (race_->over()) end_race(race_->winner());
    } else if (!open_.empty() && matters(*open_.back())) {
      begin_race(*open_.back());
    } else {
      settled_ = true;
    }
  } catch (const std::exception&) {
    // Such as too little memory. The rule's choice, which works, stays.
    race_.reset();
    open_.pop_back();
  }
  if (!settled_) return;
  memory_ = {};
  tuner_.keep();
}

void LaterTuning::begin_race(const KernelRequest& request) {
  const std::vector<ConvForm> forms = all_conv_forms(request);
  by_rule_ = conv_by_rule(forms);
  tuner_.refresh();
  const std::string known = tuner_.find(conv_key(request));
  if (!known.empty()) return end_race(known);
  race_.emplace(conv_candidates(request, forms, memory_));
  if (race_->over()) end_race(race_->winner());
}

void LaterTuning::end_race(const std::string& winner) {
  tuner_.set(conv_key(*open_.back()), winner);
  changed_ = changed_ || winner != by_rule_;
  race_.reset();
  open_.pop_back();
}

}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace thalweg {

/// The moment by which a wait must have ended, and how long it has gone on. Copies keep the moment: an operation of
/// several waits hands one deadline down.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  /// From now on; what is longer than ten years counts as that.
  explicit Deadline(std::chrono::duration<double> allowed)
      : start_(Clock::now()),
        end_(start_ +
             std::chrono::duration_cast<Clock::duration>(std::min<std::chrono::duration<double>>(allowed, kLongest))) {}

  /// The same, but it counts as passed as soon as `cancelled` is set, which must outlive it. A wait notices that at its
  /// next look at the clock.
  Deadline unless(const std::atomic<bool>& cancelled) const {
    Deadline result = *this;
    result.cancelled_ = &cancelled;
    return result;
  }

  bool expired() const { return (cancelled_ != nullptr && cancelled_->load()) || Clock::now() >= end_; }
  /// Since it was made, in seconds.
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  /// Never negative.
  std::chrono::nanoseconds remaining() const {
    return std::max(std::chrono::nanoseconds(0), std::chrono::nanoseconds(end_ - Clock::now()));
  }
  /// For poll(2): rounded up, so that it does not spin through the last millisecond, and at most `most`.
  int poll_milliseconds(int most) const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(remaining()).count();
    return static_cast<int>(std::min<int64_t>(left, most));
  }

 private:
  static constexpr std::chrono::hours kLongest{24 * 3653};

  Clock::time_point start_;
  Clock::time_point end_;
  const std::atomic<bool>* cancelled_ = nullptr;
};

}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/choose/link_probe.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace thalweg::sync {
namespace {

/// What a link lets through at once before it slows down to its rate is over by then.
constexpr double kLongEnough = 0.15;
constexpr size_t kFirstBytes = size_t{4} << 10U, kMostBytes = size_t{32} << 20U, kGrowth = 4;
constexpr int kSmallOnes = 9;

/// The time of one all-reduce, by the slowest member's clock.
comm::Status time_sum(comm::Communicator& communicator, std::vector<float>& values, double& seconds) {
  if (comm::Status status = communicator.barrier(); !status) return status;
  const auto begin = std::chrono::steady_clock::now();
  if (comm::Status status = communicator.all_reduce(values.data(), values.size(), DType::kF32); !status) return status;
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return communicator.all_reduce(&seconds, 1, DType::kF64, comm::ReduceOp::kMax);
}

/// The median, so that a member that is interrupted once does not decide.
comm::Status time_small_sums(comm::Communicator& communicator, double& seconds) {
  std::vector<double> times(kSmallOnes);
  std::vector<float> one(1);
  for (double& time : times) {
    if (comm::Status status = time_sum(communicator, one, time); !status) return status;
  }
  std::nth_element(times.begin(), times.begin() + kSmallOnes / 2, times.end());
  seconds = times[kSmallOnes / 2];
  return {};
}

}  // namespace

comm::Status probe_link(comm::Communicator& communicator, LinkSpeed& speed) {
  if (comm::Status status = time_small_sums(communicator, speed.seconds); !status) return status;
  for (size_t bytes = kFirstBytes; bytes <= kMostBytes; bytes *= kGrowth) {
    std::vector<float> values(bytes / sizeof(float));
    double seconds = 0;
    if (comm::Status status = time_sum(communicator, values, seconds); !status) return status;
    speed.seconds_per_byte = std::max(0.0, seconds - speed.seconds) / static_cast<double>(bytes);
    if (seconds >= kLongEnough) break;
  }
  return {};
}

}  // namespace thalweg::sync

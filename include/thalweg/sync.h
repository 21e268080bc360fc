// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/comm.h"
#include "thalweg/train.h"

namespace thalweg::sync {

// The four axes on which ways to train with several workers differ.

enum class Parallelism { kData, kModel };
enum class Optimisation {
  kCentral,   ///< one set of weights, which all gradients change
  kDecentral  ///< each worker has weights of its own, which are brought together now and then
};
enum class Schedule {
  kSynchronous,  ///< every worker waits for all others at every exchange
  kBounded,      ///< a worker may be ahead of the slowest by a number of steps
  kAsynchronous  ///< nobody waits
};
enum class Exchange {
  kAllReduce,      ///< everybody ends with the sum of all
  kScatterReduce,  ///< each worker sums, updates and hands out its own part
  kAdHoc           ///< with whoever serves a parameter, when it is needed
};

/// A way to train that has a name.
struct Preset {
  std::string name;
  Parallelism parallelism = Parallelism::kData;
  Optimisation optimisation = Optimisation::kCentral;
  Schedule schedule = Schedule::kSynchronous;
  Exchange exchange = Exchange::kAllReduce;
  /// What it does, and which systems train so.
  std::string description;
};
const std::vector<Preset>& presets();

/// For SchemeOptions::staleness.
inline constexpr int kUnbounded = -1;

/// The form in which gradients travel. What rounding loses is added to the gradients of the next step.
enum class Compression {
  kNone,  ///< f32
  kBf16,  ///< half the bytes, the range of f32
  kF16    ///< half the bytes, more digits, numbers up to 65504
};

struct SchemeOptions {
  /// One of the presets' names.
  std::string name = "allreduce";
  /// allreduce, sharded: gradients are exchanged in pieces of about so many bytes, each as soon as it is complete,
  /// while the backward pass goes on.
  size_t bucket_bytes = size_t{4} << 20U;
  /// allreduce, sharded, ssp. Of tables with sparse gradients only the rows that have some travel, in this form too.
  Compression compression = Compression::kNone;
  /// sharded: how many other workers keep a copy of each worker's part of the optimiser's state. So many may be lost at
  /// the same time, and the run goes on.
  int copies = 1;
  /// ssp: how many steps a worker may be ahead of the slowest one; kUnbounded: any number.
  int staleness = 0;
  /// ssp: how long a worker waits for one that is behind, and alive, before it does without it; at the end of the run,
  /// how long for the next step of anybody.
  std::chrono::duration<double> patience{600.0};
  /// localsgd: steps between two averages of the weights.
  int period = 10;
  /// If each worker has rows of its own, in any number: what it trains on (the same object goes to Trainer::fit). They
  /// are spread evenly before the first step. A group that trains so does not change its size: its members have seats
  /// (GroupOptions::seat), and one that is lost must come back, with the rows it had at first.
  std::shared_ptr<data::RowStore> rows = nullptr;
};

/// For TrainOptions::scheme. An unknown name throws and lists those there are.
std::shared_ptr<Scheme> make_scheme(const SchemeOptions& options, std::shared_ptr<comm::Group> group);

}  // namespace thalweg::sync

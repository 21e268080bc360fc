// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
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
  kTwoLevels,      ///< as kScatterReduce between hosts, each of which has added up what its workers have
  kTree,           ///< sums go up a binomial tree to one worker, and weights down again
  kNeighbours,     ///< each worker with its neighbours only
  kAdHoc           ///< with whoever serves a parameter, when it is needed
};

/// A number that a scheme or a compressor can be told.
struct OptionInfo {
  std::string name;
  /// If nothing is said; a preset may have another.
  double usual = 0;
  double least = 0;
  double most = 0;
  bool whole = false;
  std::string description;
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
  /// What holds of its result, and when to take it.
  std::string promise = {};
  std::string when = {};
  /// Gradients may travel in a compressor's form.
  bool compresses = false;
  std::vector<OptionInfo> options = {};
  /// With fewer workers it would be another scheme: why is said here.
  int least_workers = 2;
  std::string why_as_many = {};
  /// It is one of the others, which a measurement chooses: axes, promise and compression are those of that one.
  bool is_chosen = false;
};
const std::vector<Preset>& presets();

/// A form in which gradients travel. What it leaves out of them is added to those of later steps, unless said
/// otherwise.
struct CompressorInfo {
  std::string name;
  std::string description;
  std::vector<OptionInfo> options;
};
const std::vector<CompressorInfo>& compressors();

/// For the option `staleness`.
inline constexpr int kUnbounded = -1;

struct SchemeOptions {
  /// One of the presets' names.
  std::string name = "allreduce";
  /// The form in which gradients travel: one of the compressors' names, or "none". Of tables with sparse gradients only
  /// the rows that have some travel; "bf16" and "f16" make these shorter as well.
  std::string compression = "none";
  /// What the scheme and the compressor are told, by the names of their options (Preset::options,
  /// CompressorInfo::options).
  std::map<std::string, double> options = {};
  /// If each worker has rows of its own, in any number: what it trains on (the same object goes to Trainer::fit). They
  /// are spread evenly before the first step. A group that trains so does not change its size: its members have seats
  /// (GroupOptions::seat), and one that is lost must come back, with the rows it had at first.
  std::shared_ptr<data::RowStore> rows = nullptr;
};

/// Throws Error for a name, an option or a value that there is not, and for what does not go together. The text says
/// what there is instead.
void check_scheme(const SchemeOptions& options);

/// For TrainOptions::scheme. Throws what check_scheme does.
std::shared_ptr<Scheme> make_scheme(const SchemeOptions& options, std::shared_ptr<comm::Group> group);

/// What the scheme `auto` has chosen.
struct SchemeChoice {
  SchemeOptions scheme;
  /// What was measured, and what follows from it.
  std::string why;
};
/// None of other schemes, and before it has chosen.
std::optional<SchemeChoice> choice_of(const Scheme& scheme);

}  // namespace thalweg::sync

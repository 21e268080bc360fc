// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/data/dataset.h"
#include "thalweg/data/sampler.h"
#include "thalweg/error.h"

namespace thalweg::data {

/// What to do with a sample that cannot be read.
enum class BadSample {
  kFail,  ///< the error comes out of Loader::next at the batch it concerns
  /// The sample is left out, its batch is smaller by it (or empty), and it is counted. If as many in a row as the
  /// dataset holds cannot be read, that is an error all the same.
  kSkip
};

struct LoaderOptions {
  /// Batches read ahead of their use.
  int depth = 2;
  /// 0: as many as there are processors if samples are costly to read (Dataset::is_costly), otherwise 1.
  int threads = 0;
  /// The loader ends after so many; never if negative.
  int64_t max_batches = -1;
  BadSample bad = BadSample::kFail;
  /// How long `next` waits for a batch before it fails, and the loader's end for a thread that is still reading. One
  /// that is not done by then, as it may be that waits for a file server, is left behind.
  std::chrono::seconds patience{600};
  /// Asked several times a second while `next` waits, by the thread that waits. Once it says true, the batch has
  /// `stop_patience` to come; then `next` throws WaitStopped.
  std::function<bool()> stopping = {};
  std::chrono::seconds stop_patience{5};
};

/// LoaderOptions::stopping has ended a wait.
class WaitStopped : public Error {
 public:
  using Error::Error;
};

/// Samples that were left out.
struct SkippedSamples {
  static constexpr size_t kMostReasons = 10;

  int64_t count = 0;
  /// Why, of the first few; each once, however often a sample came up.
  std::vector<std::string> reasons = {};

  void add(const SkippedSamples& others);
};

/// "3 samples that could not be read were left out: a.jpg: the file is empty; ...", "" if there is none.
std::string to_string(const SkippedSamples& skipped);

struct LoadedBatch {
  /// To be read only: it may be a part of what the dataset keeps (Dataset::lend). Otherwise its memory is used again
  /// for a later batch once no copy of these tensors is left.
  Batch batch;
  /// The number, in the dataset, of the sample in each row.
  std::vector<int64_t> samples;
  /// Where this batch stands; `last_of_epoch` if the next one belongs to another epoch.
  SamplerPosition position;
  bool last_of_epoch = false;
  /// Of the batch that this is a share of (SamplerOptions::share), as it stands in the order: samples left out count.
  int64_t whole_samples = 0;
  /// Time the caller had to wait for it.
  double wait_seconds = 0;
  /// Of this batch.
  SkippedSamples skipped = {};
};

/// Reads batches ahead of their use on threads of its own, and hands them out in the sampler's order. What comes out
/// depends on dataset and sampler only, not on the number of threads. The dataset must outlive the loader, and, if a
/// thread was left behind that reads from it, that thread: the datasets of this library see to that themselves.
class Loader {
 public:
  Loader(const Dataset& dataset, const BatchSampler& sampler, const LoaderOptions& options = {});
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// False after `max_batches`. Whatever the dataset throws comes out at the batch it concerns, and at every later
  /// call.
  bool next(LoadedBatch& result);
  /// Of the batches handed out so far.
  SkippedSamples skipped() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace thalweg::data

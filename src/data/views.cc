// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/views.h"

#include <algorithm>
#include <numeric>

namespace thalweg::data {

View::View(const char* what, std::vector<DatasetPtr> sources) : what_(what), sources_(std::move(sources)) {
  TW_REQUIRE(!sources_.empty(), what, " of no datasets");
  for (size_t i = 0; i < sources_.size(); ++i) {
    TW_REQUIRE(sources_[i] != nullptr, what, ": dataset ", i, " is null");
    TW_REQUIRE(sources_[i]->input_types() == sources_[0]->input_types() &&
                   sources_[i]->target_types() == sources_[0]->target_types(),
               what, ": dataset ", i, " gives other types than dataset 0");
  }
}

bool View::is_costly() const {
  return std::any_of(sources_.begin(), sources_.end(), [](const DatasetPtr& source) { return source->is_costly(); });
}

bool View::is_in_memory() const {
  return std::all_of(sources_.begin(), sources_.end(), [](const DatasetPtr& source) { return source->is_in_memory(); });
}

void View::read(std::span<const int64_t> indices, const Draw& draw, const Batch& batch, int64_t row) const {
  // Samples of one source that follow each other are read in one call. All are found first: a reader that was given up
  // on may come back when this object is gone.
  struct Run {
    DatasetPtr source;
    Draw draw;
    std::vector<int64_t> indices;
  };
  std::vector<Run> runs;
  for (const int64_t index : indices) {
    TW_REQUIRE(index >= 0 && index < size(), what_, " of ", size(), " samples has no sample ", index);
    const Location location = locate(index, draw.epoch);
    const DatasetPtr& source = sources_[location.source];
    if (runs.empty() || runs.back().source != source || runs.back().draw.epoch != location.epoch) {
      runs.push_back({source, {draw.seed, location.epoch}, {}});
    }
    runs.back().indices.push_back(location.index);
  }
  for (const Run& run : runs) {
    run.source->read(run.indices, run.draw, batch, row);
    row += static_cast<int64_t>(run.indices.size());
  }
}

Concat::Concat(std::vector<DatasetPtr> all) : View("concatenation", std::move(all)) {
  int64_t end = 0;
  for (const DatasetPtr& source : sources()) ends_.push_back(end += source->size());
}

View::Location Concat::locate(int64_t index, int64_t epoch) const {
  const auto source = static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin());
  return {source, source == 0 ? index : index - ends_[source - 1], epoch};
}

Subset::Subset(DatasetPtr source, std::vector<int64_t> indices)
    : View("subset", {std::move(source)}), indices_(std::move(indices)) {
  const int64_t available = sources().front()->size();
  for (const int64_t index : indices_) {
    TW_REQUIRE(index >= 0 && index < available, "subset: the dataset of ", available, " samples has no sample ", index);
  }
}

Subset Subset::first(DatasetPtr source, int64_t count) {
  TW_REQUIRE(source != nullptr && count >= 0, "subset: needs a dataset and a count of at least 0");
  std::vector<int64_t> indices(static_cast<size_t>(std::min(count, source->size())));
  std::iota(indices.begin(), indices.end(), int64_t{0});
  return {std::move(source), std::move(indices)};
}

namespace {

int64_t shard_size(int64_t samples, int64_t rank, int64_t world, UnevenShards uneven) {
  const int64_t whole = samples / world;
  const int64_t rest = samples % world;
  switch (uneven) {
    case UnevenShards::kKeep: return whole + (rank < rest ? 1 : 0);
    case UnevenShards::kDrop: return whole;
    case UnevenShards::kPad: return whole + (rest > 0 ? 1 : 0);
  }
  return whole;
}

}  // namespace

Shard::Shard(DatasetPtr source, int64_t rank, int64_t world, UnevenShards uneven)
    : View("shard", {std::move(source)}), rank_(rank), world_(world), size_(0) {
  TW_REQUIRE(world > 0 && rank >= 0 && rank < world, "shard: rank ", rank, " is not in a world of ", world);
  size_ = shard_size(sources().front()->size(), rank, world, uneven);
}

View::Location Shard::locate(int64_t index, int64_t epoch) const {
  return {0, (rank_ + index * world_) % sources().front()->size(), epoch};
}

}  // namespace thalweg::data

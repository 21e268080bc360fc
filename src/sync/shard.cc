// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/shard.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace thalweg::sync {
namespace {

std::vector<std::span<float>> slots_of(optim::Optimizer& updater, size_t index) {
  std::vector<std::span<float>> result;
  for (const optim::Slot& slot : updater.slots(index)) result.push_back(slot.values);
  return result;
}

}  // namespace

std::span<float> weights_of(Trainee& trainee, const Piece& piece) {
  auto* values = static_cast<float*>(trainee.variables().data(piece.variable));
  return {values + piece.begin, piece.gradient.size()};
}

Shard::Shard(Trainee& trainee, const GradientBuckets& buckets, const Place& place) : place_(place) {
  TW_REQUIRE(trainee.updater().elementwise(), "optimizer ", trainee.updater().name(),
             " compares whole parameters, of which each worker would have a part: use the scheme allreduce");
  for (const DenseParameter& parameter : dense_parameters(trainee)) indices_.push_back(parameter.updater_index);
  for (int part = 0; part < place.parts; ++part) {
    if (!place.holds(part)) continue;
    for (const Piece& piece : buckets.pieces(place.parts, part)) {
      Held held{piece, trainee.updater_index(piece.variable), {}};
      for (const std::span<float> slot : slots_of(trainee.updater(), held.updater_index)) {
        held.slots.push_back(slot.subspan(piece.begin, piece.gradient.size()));
      }
      held_.push_back(std::move(held));
    }
  }
}

void Shard::count_updates(Trainee& trainee, int64_t change) const {
  optim::Optimizer& updater = trainee.updater();
  for (const size_t index : indices_) updater.set_updates(index, updater.updates(index) + change);
}

void Shard::update(Trainee& trainee, double gradient_scale) {
  count_updates(trainee, 1);
  for (const Held& held : held_) {
    trainee.updater().update_part(held.updater_index, held.piece.begin, weights_of(trainee, held.piece),
                                  held.piece.gradient, {trainee.learning_rate(), gradient_scale});
  }
}

std::vector<std::span<float>> Shard::memory(Trainee& trainee) const {
  std::vector<std::span<float>> result;
  for (const Held& held : held_) {
    result.push_back(weights_of(trainee, held.piece));
    result.insert(result.end(), held.slots.begin(), held.slots.end());
  }
  return result;
}

void Shard::save(Trainee& trainee) {
  saved_.clear();
  for (const std::span<float> values : memory(trainee)) saved_.insert(saved_.end(), values.begin(), values.end());
}

void Shard::put_back(Trainee& trainee) {
  const float* next = saved_.data();
  for (const std::span<float> values : memory(trainee)) {
    std::copy_n(next, values.size(), values.begin());
    next += values.size();
  }
  count_updates(trainee, -1);
}

void Shard::forget_the_rest(Trainee& trainee) const {
  std::map<size_t, std::vector<comm::Part>> kept;
  for (const Held& held : held_) {
    kept[held.piece.variable].push_back({held.piece.begin, held.piece.begin + held.piece.gradient.size()});
  }
  for (const TrainedVariable& entry : trainee.trained()) {
    if (entry.sparse) continue;
    std::vector<comm::Part>& parts = kept[entry.variable];
    std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    parts.push_back({entry.num_floats, entry.num_floats});
    size_t done = 0;
    for (const comm::Part& part : parts) {
      trainee.updater().forget_part(trainee.updater_index(entry.variable), done, part.begin);
      done = part.end;
    }
  }
}

ShardSources own_parts(int workers) {
  ShardSources sources{workers, std::vector<int>(static_cast<size_t>(workers))};
  std::iota(sources.source.begin(), sources.source.end(), 0);
  return sources;
}

comm::Status find_sources(comm::Communicator& communicator, const Holding& mine, ShardSources& sources) {
  struct Entry {
    int64_t parts = 0, own = 0, copies = 0, all = 0;
  };
  std::vector<Entry> entries(static_cast<size_t>(communicator.size()));
  if (mine.place) {
    entries[static_cast<size_t>(communicator.rank())] = {mine.place->parts, mine.place->own, mine.place->copies,
                                                         mine.all ? 1 : 0};
  }
  comm::Status status =
      communicator.all_gather(entries.data(), entries.size() * sizeof(Entry) / sizeof(int64_t), DType::kI64);
  if (!status) return status;
  for (const Entry& entry : entries) sources.parts = std::max(sources.parts, static_cast<int>(entry.parts));
  sources.source.assign(static_cast<size_t>(sources.parts), -1);
  for (int part = 0; part < sources.parts; ++part) {
    const auto has_it = [&](const Entry& entry) {
      const Shard::Place place{sources.parts, static_cast<int>(entry.own), static_cast<int>(entry.copies)};
      return entry.all > 0 || (entry.parts > 0 && place.holds(part));
    };
    const auto is_its_own = [&](const Entry& entry) { return has_it(entry) && entry.own == part; };
    auto first = std::find_if(entries.begin(), entries.end(), is_its_own);
    if (first == entries.end()) first = std::find_if(entries.begin(), entries.end(), has_it);
    if (first != entries.end()) sources.source[static_cast<size_t>(part)] = static_cast<int>(first - entries.begin());
  }
  return {};
}

comm::Status collect_row(comm::Communicator& communicator, const ShardSources& sources,
                         const std::map<int, std::vector<float>>& mine, size_t floats, std::vector<float>& row) {
  row.assign(floats, 0.0F);
  for (int part = 0; part < sources.parts; ++part) {
    if (sources.source[static_cast<size_t>(part)] != communicator.rank()) continue;
    const comm::Part range = comm::part_of(floats, sources.parts, part);
    const std::vector<float>& own = mine.at(part);
    TW_REQUIRE(range.size() == own.size(), "a part of ", range.size(), " numbers has ", own.size());
    std::copy(own.begin(), own.end(), row.begin() + static_cast<int64_t>(range.begin));
  }
  // All but one worker bring zeros for an element, so that the sum is exact.
  return communicator.all_reduce(row.data(), row.size(), DType::kF32);
}

std::vector<DenseParameter> dense_parameters(const Trainee& trainee) {
  std::vector<DenseParameter> result;
  for (const TrainedVariable& entry : trainee.trained()) {
    if (!entry.sparse) result.push_back({entry.variable, trainee.updater_index(entry.variable)});
  }
  return result;
}

comm::Status collect_state(comm::Communicator& communicator, optim::Optimizer& updater,
                           const std::vector<DenseParameter>& parameters, const GradientBuckets& buckets,
                           const ShardSources& sources, bool keep) {
  std::map<size_t, std::vector<Piece>> mine;
  for (int part = 0; part < sources.parts; ++part) {
    if (sources.source[static_cast<size_t>(part)] != communicator.rank()) continue;
    for (const Piece& piece : buckets.pieces(sources.parts, part)) mine[piece.variable].push_back(piece);
  }
  std::vector<float> sum;
  for (const DenseParameter& parameter : parameters) {
    for (const std::span<float> slot : slots_of(updater, parameter.updater_index)) {
      // All but one worker bring zeros for an element, so that the sum is exact.
      sum.assign(slot.size(), 0.0F);
      for (const Piece& piece : mine[parameter.variable]) {
        std::copy_n(slot.data() + piece.begin, piece.gradient.size(), sum.data() + piece.begin);
      }
      comm::Status status = communicator.all_reduce(sum.data(), sum.size(), DType::kF32);
      if (!status) return status;
      if (keep) std::copy(sum.begin(), sum.end(), slot.begin());
    }
  }
  return {};
}

}  // namespace thalweg::sync

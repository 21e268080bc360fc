// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>

#include "sync/gradient_buckets.h"
#include "thalweg/comm.h"

namespace thalweg::sync {

/// The parts of all dense parameters, and of the optimiser's state for them, that one worker updates.
class Shard {
 public:
  /// Every bucket is cut into `parts`, of which these are number `own` and the `copies` before it, around the end if
  /// need be.
  struct Place {
    int parts = 1;
    int own = 0;
    int copies = 0;
    bool holds(int part) const { return (own - part + parts) % parts <= copies; }
  };
  /// Throws Error if the optimiser cannot update parts.
  Shard(Trainee& trainee, const GradientBuckets& buckets, const Place& place);

  const Place& place() const { return place_; }

  /// Updates weights and state with the gradients in the buckets.
  void update(Trainee& trainee, double gradient_scale);
  /// Copies weights and state aside, and puts them back as they were then.
  void save(Trainee& trainee);
  void put_back(Trainee& trainee);
  /// The optimiser forgets the state of everything outside.
  void forget_the_rest(Trainee& trainee) const;

 private:
  struct Held {
    Piece piece;
    size_t updater_index = 0;
    std::vector<std::span<float>> slots;
  };
  /// Of weights and state, everything held.
  std::vector<std::span<float>> memory(Trainee& trainee) const;
  void count_updates(Trainee& trainee, int64_t change) const;

  Place place_;
  std::vector<Held> held_;
  /// The optimiser's numbers of all dense parameters.
  std::vector<size_t> indices_;
  std::vector<float> saved_;
};

/// The elements of a parameter that a piece stands for.
std::span<float> weights_of(Trainee& trainee, const Piece& piece);

/// Who has which parts of the optimiser's state: part r comes from the worker of rank `source[r]`.
struct ShardSources {
  int parts = 1;
  /// -1: nobody has it.
  std::vector<int> source;
};
/// Every worker has its own.
ShardSources own_parts(int workers);

/// What one worker has of the optimiser's state.
struct Holding {
  std::optional<Shard::Place> place;
  /// Not only what belongs to its place. Does not count without one.
  bool all = false;
};
/// Every worker: who has each part; the one whose own it is, if that is there.
comm::Status find_sources(comm::Communicator& communicator, const Holding& mine, ShardSources& sources);

/// Every worker: the row of all parameters, of which this one has these parts and brings those that it is the source
/// of. Where nobody has a part there are zeros.
comm::Status collect_row(comm::Communicator& communicator, const ShardSources& sources,
                         const std::map<int, std::vector<float>>& mine, size_t floats, std::vector<float>& row);

/// A dense parameter that is trained, and the optimiser's number of it.
struct DenseParameter {
  size_t variable = 0;
  size_t updater_index = 0;
};
/// Those of the buckets that are made of the same trainee at the same time. To be kept: the thread that trains may
/// compile another program, and learn anew what is trained, whenever it takes a step.
std::vector<DenseParameter> dense_parameters(const Trainee& trainee);

/// Every worker: adds up what the sources have to the state of all these parameters, and keeps it if `keep`. From any
/// thread that has the communicator to itself.
comm::Status collect_state(comm::Communicator& communicator, optim::Optimizer& updater,
                           const std::vector<DenseParameter>& parameters, const GradientBuckets& buckets,
                           const ShardSources& sources, bool keep);

}  // namespace thalweg::sync

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sync/shard.h"

namespace thalweg::sync {

/// One part of all dense parameters, which lie in a row as in the one bucket of `map`, with its weights and its share
/// of the optimiser's state: what a server has. What it asks the trainee for, it asks when it is made: the thread that
/// trains may compile another program, and learn anew what is trained, at any time.
class ServedPart {
 public:
  ServedPart(Trainee& trainee, const GradientBuckets& map, int parts, int part);

  int number() const { return part_; }
  /// Place of its elements in the row.
  const comm::Part& range() const { return range_; }
  std::span<float> weights() { return weights_; }
  std::span<const float> weights() const { return weights_; }
  /// One step of the optimiser with this gradient, which counts as an update of the parameters.
  void update(std::span<const float> gradient, double rate, double scale);
  /// The same as another server has made it, as its update number `count`; here it does not count.
  void repeat(std::span<const float> gradient, double rate, double scale, int64_t count);
  /// Updates of the parameters that were counted.
  int64_t updates() const;
  /// The optimiser's state, in one row.
  std::vector<float> slots() const;
  void set_slots(std::span<const float> values);
  size_t num_slot_floats() const;

  /// The optimiser's state as the last update left it, and as it was before that.
  struct History {
    /// The step of the last update; 0: there was none.
    int64_t step = 0;
    std::vector<float> before, after;
    /// That of the moment when so many steps were complete, be it all up to the last one or all but that.
    std::span<const float> at(int64_t complete) const { return step > complete ? before : after; }
  };
  /// Before the update of a step that may have to be made again.
  void begin_step(int64_t step);
  History history() const;

 private:
  struct Element {
    Piece piece;
    size_t updater_index = 0;
    /// Of this part in the optimiser's memory.
    std::vector<std::span<float>> slots;
  };

  void apply(std::span<const float> gradient, double rate, double scale);
  void append_slots(std::vector<float>& values) const;

  Trainee& trainee_;
  int part_;
  comm::Part range_;
  std::vector<Element> elements_;
  /// The optimiser's numbers of all dense parameters.
  std::vector<size_t> indices_;
  std::vector<float> weights_;
  /// Of the last `begin_step`.
  int64_t step_ = 0;
  std::vector<float> slots_before_;
};

}  // namespace thalweg::sync

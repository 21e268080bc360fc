// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sync/compress/compressor.h"
#include "thalweg/sync.h"

namespace thalweg::sync {

// What schemes are composed of. A preset is a choice of these, and values of the options that they bring along.

/// What goes from worker to worker.
enum class Travels { kGradients, kWeights };
/// Along which ways, and what it becomes there.
enum class Topology {
  kAllReduce,      ///< everybody gets the sum or mean of all
  kScatterReduce,  ///< each owner gets the sum for its part, and hands its part out
  kTree,           ///< up a binomial tree to one root, and down again
  kServers,        ///< to those who serve a part, in rounds that wait for nobody
  kByRule          ///< as the rule says by which weights are brought together
};
/// Who changes weights.
enum class Updates { kEverybody, kOwners, kRoot, kServers, kItself };
/// How far workers may be apart.
enum class Pace { kEveryStep, kPeriod, kBounded };

struct Composition {
  Travels travels = Travels::kGradients;
  Topology topology = Topology::kAllReduce;
  Updates updates = Updates::kEverybody;
  Pace pace = Pace::kEveryStep;
  /// Where weights travel: the name of the rule.
  const char* rule = nullptr;
};

/// A row of the table of presets.
struct PresetRow {
  const char* name;
  Composition parts;
  /// Where they differ from what the parts have.
  PartOptions defaults;
  const char* description;
  const char* promise;
  const char* when;
};
const std::vector<PresetRow>& preset_rows();

/// The options that the parts bring along, with what is usual for each.
std::vector<OptionInfo> options_of(const Composition& parts);
std::shared_ptr<Scheme> compose(const Composition& parts, const PartOptions& values, const SchemeOptions& options,
                                std::shared_ptr<comm::Group> group);

}  // namespace thalweg::sync

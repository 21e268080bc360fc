// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "base/text.h"
#include "sync/schemes.h"

namespace thalweg::sync {
namespace {

struct Entry {
  Preset preset;
  std::shared_ptr<Scheme> (*make)(const SchemeOptions&, std::shared_ptr<comm::Group>);
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
      {{"allreduce", Parallelism::kData, Optimisation::kCentral, Schedule::kSynchronous, Exchange::kAllReduce,
        "every worker adds up the gradients of all and makes the same update (PyTorch DDP, Horovod)"},
       make_allreduce},
      {{"sharded", Parallelism::kData, Optimisation::kCentral, Schedule::kSynchronous, Exchange::kScatterReduce,
        "each worker owns a part of the parameters and of the optimiser's state: it adds up the gradients of all for "
        "it, updates it, and hands out the weights (BigDL)"},
       make_sharded},
      {{"ssp", Parallelism::kData, Optimisation::kCentral, Schedule::kBounded, Exchange::kAdHoc,
        "each worker serves a part of the parameters, and may be `staleness` steps ahead of the slowest: 0 is "
        "synchronous, "
        "s is Petuum, unbounded is DistBelief's Downpour"},
       make_ssp},
      {{"localsgd", Parallelism::kData, Optimisation::kDecentral, Schedule::kSynchronous, Exchange::kAllReduce,
        "every worker trains by itself, and all take the mean of their weights every `period` steps (SparkNet)"},
       make_localsgd},
  };
  return all;
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all = [] {
    std::vector<Preset> result;
    for (const Entry& entry : entries()) result.push_back(entry.preset);
    return result;
  }();
  return all;
}

std::shared_ptr<Scheme> make_scheme(const SchemeOptions& options, std::shared_ptr<comm::Group> group) {
  std::vector<std::string> names;
  for (const Entry& entry : entries()) {
    if (entry.preset.name == options.name) return entry.make(options, std::move(group));
    names.push_back(entry.preset.name);
  }
  raise("there is no training scheme '", options.name, "'; there are: ", join(names, ", "));
}

}  // namespace thalweg::sync

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sync/owner_exchange.h"
#include "sync/registry.h"

namespace thalweg::sync {

/// Along which ways gradients travel, as presets name it.
struct TopologyInfo {
  std::string name;
  /// The axis of the review.
  Exchange exchange = Exchange::kAllReduce;
  /// Everybody sees what everybody sends, and codes may be added up on their way. Otherwise they are carried to those
  /// who need their sum, each as it is.
  bool adds_codes = true;
  /// How those who own parameters get gradients and hand out weights; null if nobody can own any along these ways.
  std::unique_ptr<OwnerExchange> (*make_for_owners)(int copies) = nullptr;
};
using RegisterTopology = Register<TopologyInfo>;

/// Throws Error if there is none of that name.
inline const TopologyInfo& topology(const std::string& name) { return Registry<TopologyInfo>::find(name, "topology"); }

}  // namespace thalweg::sync

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/weight_rule.h"

namespace thalweg::sync {

const WeightRuleInfo& weight_rule(const std::string& name) {
  return Registry<WeightRuleInfo>::find(name, "rule by which workers bring their weights together");
}

comm::Status mean_of_all(comm::Communicator& communicator, std::vector<float>& values) {
  const auto share = static_cast<float>(1.0 / communicator.size());
#pragma omp simd
  for (size_t i = 0; i < values.size(); ++i) values[i] *= share;
  return communicator.all_reduce(values.data(), values.size(), DType::kF32);
}

comm::Status WeightRule::end(comm::Communicator& communicator, int64_t /*steps*/, Meeting& meeting) {
  return mean_of_all(communicator, meeting.now);
}

}  // namespace thalweg::sync

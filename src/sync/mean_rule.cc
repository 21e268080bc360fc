// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/weight_rule.h"

namespace thalweg::sync {
namespace {

class MeanRule : public WeightRule {
 public:
  comm::Status meet(comm::Communicator& communicator, Meeting& meeting) override {
    return mean_of_all(communicator, meeting.now);
  }
};

/// All take the mean (SparkNet).
const RegisterWeightRule kMean({"mean", Exchange::kAllReduce, {}, [](const PartOptions&) {
                                  return std::unique_ptr<WeightRule>(std::make_unique<MeanRule>());
                                }});

}  // namespace

}  // namespace thalweg::sync

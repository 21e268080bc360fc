// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "sync/group_scheme.h"
#include "sync/weight_rule.h"

namespace thalweg::sync {

/// Weights travel: every worker updates its own, and every `period` steps all bring them together by some rule.
class WeightScheme : public GroupScheme {
 public:
  struct Parts {
    int64_t period = 1;
    /// Steps between two at which all agree on stopping, on newcomers and on the loss.
    int64_t news = 1;
    std::unique_ptr<WeightRule> rule;
  };
  WeightScheme(std::shared_ptr<comm::Group> group, const SchemeOptions& options, Parts parts);

  GradientPath gradient_path() const override { return GradientPath::kOwnUpdate; }
  Update exchange(StepTotals& totals) override;
  bool after_update() override;

 protected:
  void prepare(Trainee& trainee) override;
  Holdings holdings() const override { return {Held::kLocal, Held::kLocal}; }
  std::vector<NamedTensor> common_state() override { return rule_->common_state(*flat_); }
  void set_common_state(const std::vector<NamedTensor>& state) override { given_ = state; }
  comm::Status last_exchange() override;
  comm::Status complete_state(Trainee& trainee, int64_t target, bool counts) override;

 private:
  comm::Status meet();

  int64_t period_, news_;
  std::unique_ptr<WeightRule> rule_;
  Trainee* trainee_ = nullptr;
  std::optional<FlatWeights> flat_;
  std::vector<NamedTensor> given_;
  Meeting meeting_;
  /// Of this epoch.
  int64_t meetings_ = 0;
  bool meets_now_ = false;
  bool tells_now_ = false;
};

}  // namespace thalweg::sync

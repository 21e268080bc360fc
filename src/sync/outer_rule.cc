// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// DiLoCo (Douillard et al., 2023): what the mean has moved by since the last meeting is the gradient of one step of SGD
// with Nesterov's momentum, with which all go on.
#include "sync/weight_rule.h"

namespace thalweg::sync {
namespace {

class OuterRule : public WeightRule {
 public:
  OuterRule(double rate, double momentum) : rate_(static_cast<float>(rate)), momentum_(static_cast<float>(momentum)) {}

  void prepare(const FlatWeights& flat, std::span<const float> weights,
               const std::vector<NamedTensor>& state) override {
    flat.load(kAnchor, state, anchor_);
    flat.load(kVelocity, state, velocity_);
    // At the very beginning all have the same.
    if (anchor_.size() != weights.size()) anchor_.assign(weights.begin(), weights.end());
    velocity_.resize(weights.size());
  }

  comm::Status meet(comm::Communicator& communicator, Meeting& meeting) override {
    if (comm::Status status = mean_of_all(communicator, meeting.now); !status) return status;
    for (size_t i = 0; i < anchor_.size(); ++i) {
      const float gradient = anchor_[i] - meeting.now[i];
      velocity_[i] = momentum_ * velocity_[i] + gradient;
      anchor_[i] -= rate_ * (gradient + momentum_ * velocity_[i]);
      meeting.now[i] = anchor_[i];
    }
    return {};
  }

  comm::Status end(comm::Communicator& communicator, int64_t steps, Meeting& meeting) override {
    // Momentum would move weights that no step was made from.
    return steps > 0 ? meet(communicator, meeting) : mean_of_all(communicator, meeting.now);
  }

  std::vector<NamedTensor> common_state(const FlatWeights& flat) const override {
    std::vector<NamedTensor> state = flat.save(kAnchor, anchor_);
    for (NamedTensor& entry : flat.save(kVelocity, velocity_)) state.push_back(std::move(entry));
    return state;
  }
  size_t num_common_values() const override { return 2; }
  std::vector<std::span<float>> common_values() override { return {anchor_, velocity_}; }

 private:
  static constexpr const char* kAnchor = "anchor/";
  static constexpr const char* kVelocity = "velocity/";

  float rate_, momentum_;
  /// What all went on with after the last meeting, and how it moved.
  std::vector<float> anchor_, velocity_;
};

const RegisterWeightRule kOuter({"outer",
                                 Exchange::kAllReduce,
                                 {{"outer_rate", 0.7, 0, 100, false, "learning rate of the steps of the mean"},
                                  {"outer_momentum", 0.9, 0, 0.999999, false, "momentum of the steps of the mean"}},
                                 [](const PartOptions& values) -> std::unique_ptr<WeightRule> {
                                   return std::make_unique<OuterRule>(values.at("outer_rate"),
                                                                      values.at("outer_momentum"));
                                 }});

}  // namespace

}  // namespace thalweg::sync

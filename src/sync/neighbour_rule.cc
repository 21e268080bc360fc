// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// D-PSGD (Lian et al., 2017): x_i <- sum_j W_ij x_j - rate g_i(x_i), where W is doubly stochastic and zero but for
// neighbours: on a ring of three and more 1/3 for a worker itself and for both neighbours, with two workers 1/2.
#include "sync/weight_rule.h"

namespace thalweg::sync {
namespace {

constexpr uint32_t kRightTag = 7, kLeftTag = 8;

class NeighbourRule : public WeightRule {
 public:
  bool needs_before() const override { return true; }
  bool agrees() const override { return false; }

  comm::Status meet(comm::Communicator& communicator, Meeting& meeting) override {
    const int size = communicator.size(), rank = communicator.rank();
    if (size == 1) return {};
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    if (comm::Status status = swap(communicator, right, left, kRightTag, meeting.before, from_left_); !status) {
      return status;
    }
    if (size == 2) {
      mix(meeting, 0.5F, {});
      return {};
    }
    if (comm::Status status = swap(communicator, left, right, kLeftTag, meeting.before, from_right_); !status) {
      return status;
    }
    mix(meeting, 1.0F / 3.0F, from_right_);
    return {};
  }

 private:
  static comm::Status swap(comm::Communicator& communicator, int to, int from, uint32_t tag,
                           const std::vector<float>& mine, std::vector<float>& theirs) {
    theirs.resize(mine.size());
    const size_t bytes = mine.size() * sizeof(float);
    return communicator.exchange(to, mine.data(), bytes, from, theirs.data(), bytes, tag);
  }

  /// Weights of before the step are mixed; the worker's own update is added.
  void mix(Meeting& meeting, float share, std::span<const float> second) const {
    for (size_t i = 0; i < meeting.now.size(); ++i) {
      const float update = meeting.now[i] - meeting.before[i];
      const float others = from_left_[i] + (second.empty() ? 0.0F : second[i]);
      meeting.now[i] = share * (meeting.before[i] + others) + update;
    }
  }

  std::vector<float> from_left_, from_right_;
};

const RegisterWeightRule kRing(
    {"ring",
     Exchange::kNeighbours,
     {{"news", 10, 1, kMany, true, "steps between two at which all agree on stopping, and on newcomers"}},
     [](const PartOptions&) -> std::unique_ptr<WeightRule> { return std::make_unique<NeighbourRule>(); }});

}  // namespace

}  // namespace thalweg::sync

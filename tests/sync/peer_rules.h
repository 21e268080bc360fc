// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <deque>

#include "sync/compress/bits.h"
#include "sync/peer_rule.h"
#include "sync/plain_trainee.h"

// Rules by which messages move weights, without threads: messages arrive when the test says so.

namespace thalweg::testing {

class RuleGroup {
 public:
  /// Worker r begins with weights of the value `first(r)`. `values` replace what is usual for the rule's options.
  RuleGroup(const std::string& rule, int workers, const std::function<float(int)>& first,
            const sync::PartOptions& values = {}, int64_t floats = 11)
      : trainee_({floats}), flat_(trainee_), letters_(static_cast<size_t>(workers)) {
    const sync::PeerRuleInfo& info = sync::Registry<sync::PeerRuleInfo>::find(rule, "rule");
    sync::PartOptions all = values;
    for (const sync::OptionInfo& option : info.options) all.emplace(option.name, option.usual);
    for (int rank = 0; rank < workers; ++rank) {
      weights.emplace_back(static_cast<size_t>(floats), first(rank));
      rules.push_back(info.make(all));
      const sync::PeerLine line{rank, workers, [this, rank](int peer, sync::Bytes contents) {
                                  letters_[static_cast<size_t>(peer)].push_back({rank, std::move(contents)});
                                }};
      rules.back()->prepare(line, flat_, weights.back(), {}, {});
    }
  }

  /// Of this worker, which has moved all its weights by `update`.
  void step(size_t rank, float update = 0) {
    ++step_;
    for (float& value : weights[rank]) value += update;
    if (rules[rank]->wants(step_)) rules[rank]->act(step_, weights[rank]);
  }
  /// All workers make one, with the same number.
  void step_of_all(float update = 0) {
    for (size_t rank = 0; rank < weights.size(); ++rank) {
      step(rank, update);
      if (rank + 1 < weights.size()) --step_;
    }
  }
  /// The messages that are on their way now arrive, and are looked at.
  void deliver() {
    std::vector<std::deque<Letter>> now(letters_.size());
    now.swap(letters_);
    for (size_t rank = 0; rank < now.size(); ++rank) {
      for (const Letter& letter : now[rank]) rules[rank]->handle(letter.from, letter.contents).or_throw();
      if (rules[rank]->wants(0)) rules[rank]->act(0, weights[rank]);
    }
  }
  void deliver_all() {
    while (on_their_way() > 0) deliver();
  }
  size_t on_their_way() const {
    size_t letters = 0;
    for (const auto& queue : letters_) letters += queue.size();
    return letters;
  }
  struct Letter {
    int from = 0;
    sync::Bytes contents;
  };
  const std::deque<Letter>& letters_to(size_t rank) const { return letters_[rank]; }
  /// A number of a tensor of what a rule has of its own.
  template <typename T>
  std::vector<T> own(size_t rank, const std::string& name) {
    for (const NamedTensor& entry : rules[rank]->own_state(flat_)) {
      if (entry.name != name) continue;
      return {entry.tensor.data<T>(), entry.tensor.data<T>() + entry.tensor.num_elements()};
    }
    return {};
  }

  std::vector<std::vector<float>> weights;
  std::vector<std::unique_ptr<sync::PeerRule>> rules;

 private:
  PlainTrainee trainee_;
  sync::FlatWeights flat_;
  std::vector<std::deque<Letter>> letters_;
  int64_t step_ = 0;
};

inline double sum_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += value;
  return sum;
}

}  // namespace thalweg::testing

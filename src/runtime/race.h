// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace thalweg {

/// One way to compute something.
struct TuningCandidate {
  /// Short, of printable characters; stored.
  std::string name;
  /// Computes it once and gives the seconds that took.
  std::function<double()> run;
  /// Called when it has lost, so that what it needs is given back; may be empty.
  std::function<void()> leave = nullptr;
  /// The name of an earlier candidate that this one varies: it enters only if that one is about as fast as the fastest.
  std::string variant_of = {};
};

/// Candidates run in turns, so that what disturbs a while disturbs none alone, until it is clear which is fastest. One
/// run at a time, so that whoever waits for something else can stop in between.
class Race {
 public:
  explicit Race(std::vector<TuningCandidate> candidates);

  bool over() const { return over_; }
  /// Lets the next candidate run; again if another program took a processor from it.
  void advance();
  /// Once it is over: the fastest; the first one unless another is faster by more than measurements scatter.
  const std::string& winner() const;

 private:
  struct Runner {
    TuningCandidate candidate;
    double best;
    int runs = 0;
    bool in_race = true;
  };
  bool wants_to_run(const Runner& runner) const;
  double fastest() const;
  void drop_losers();
  void skip();
  void end_round();
  void leave(Runner& runner);

  std::vector<Runner> runners_;
  size_t next_ = 0;
  int round_ = 0;
  double spent_ = 0;
  bool over_ = false;
};

}  // namespace thalweg

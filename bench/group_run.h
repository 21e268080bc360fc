// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/second_process.h"

namespace thalweg::bench {

/// An all-reduce between this process and a second one that it starts ("allreduce_16mb_x2", "allreduce_16mb_x2_tcp").
class AllReduceRun {
 public:
  explicit AllReduceRun(const std::string& name);

  /// Tells the other process how many steps follow.
  void announce(int steps);
  /// Before every step: the same values again.
  void reset() { data_ = source_; }
  void step();
  /// The mean magnitude of the result.
  double check() const;

  /// The second process's part, until the first ends.
  static void serve(const SecondProcess::Task& task);

 private:
  explicit AllReduceRun(const SecondProcess::Task& task);
  void fill(const std::string& name);

  std::unique_ptr<SecondProcess> second_;
  std::unique_ptr<comm::Group> group_;
  std::vector<float> source_;
  std::vector<float> data_;
};

}  // namespace thalweg::bench

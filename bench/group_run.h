// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "thalweg/comm.h"

namespace thalweg::bench {

/// An all-reduce between this process and a second one that it starts ("allreduce_16mb_x2", "allreduce_16mb_x2_tcp").
class AllReduceRun {
 public:
  explicit AllReduceRun(const std::string& name);
  ~AllReduceRun();
  AllReduceRun(const AllReduceRun&) = delete;
  AllReduceRun& operator=(const AllReduceRun&) = delete;

  /// Tells the other process how many steps follow.
  void announce(int steps);
  /// Before every step: the same values again.
  void reset() { data_ = source_; }
  void step();
  /// The mean magnitude of the result.
  double check() const;

  /// True, with `status` set, in the second process, which has then done all its work.
  static bool serve_as_second(int& status);

 private:
  /// The second process's.
  AllReduceRun(const std::string& name, const std::string& address);
  void fill();

  std::string name_;
  std::unique_ptr<comm::Rendezvous> rendezvous_;
  pid_t second_ = -1;
  std::unique_ptr<comm::Group> group_;
  std::vector<float> source_;
  std::vector<float> data_;
};

}  // namespace thalweg::bench

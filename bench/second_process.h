// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "thalweg/comm.h"

namespace thalweg::bench {

/// For cases between two processes: this program once more, which does what the first tells it and ends with it.
class SecondProcess {
 public:
  explicit SecondProcess(const std::string& name);
  ~SecondProcess();
  SecondProcess(const SecondProcess&) = delete;
  SecondProcess& operator=(const SecondProcess&) = delete;

  std::string address() const { return rendezvous_->address(); }

  /// In the second process: the case, and where to meet the first.
  struct Task {
    std::string name;
    std::string address;
  };
  static std::optional<Task> task();

 private:
  std::unique_ptr<comm::Rendezvous> rendezvous_;
  pid_t process_ = -1;
};

/// Joins the group of both processes. Waits patiently: while the peer is measured this worker is stopped.
std::unique_ptr<comm::Group> join_pair(const std::string& name, const std::string& address);

}  // namespace thalweg::bench

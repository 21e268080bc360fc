// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "bench/group_run.h"

#include <cmath>

namespace thalweg::bench {
namespace {

/// "allreduce_16mb_x2" -> 16.
size_t megabytes_of(const std::string& name) {
  const size_t begin = std::string("allreduce_").size();
  const size_t end = name.find("mb_x2");
  TW_REQUIRE(end != std::string::npos && end > begin && end < begin + 4, "unknown case ", name);
  return static_cast<size_t>(std::stoi(name.substr(begin, end - begin)));
}

}  // namespace

AllReduceRun::AllReduceRun(const std::string& name) : second_(std::make_unique<SecondProcess>(name)) {
  group_ = join_pair(name, second_->address());
  fill(name);
}

AllReduceRun::AllReduceRun(const SecondProcess::Task& task) : group_(join_pair(task.name, task.address)) {
  fill(task.name);
}

void AllReduceRun::fill(const std::string& name) {
  const float scale = 0.5F * static_cast<float>(group_->rank() + 1);
  source_.resize(megabytes_of(name) * 1000000 / sizeof(float));
  for (size_t i = 0; i < source_.size(); ++i) source_[i] = static_cast<float>(i % 1000) * scale;
  data_ = source_;
}

void AllReduceRun::announce(int steps) {
  int32_t count = steps;
  group_->communicator().broadcast(&count, sizeof count, group_->rank()).or_throw();
}

void AllReduceRun::step() { group_->communicator().all_reduce(data_.data(), data_.size(), DType::kF32).or_throw(); }

double AllReduceRun::check() const {
  double sum = 0;
  for (const float value : data_) sum += std::abs(static_cast<double>(value));
  return sum / static_cast<double>(data_.size());
}

void AllReduceRun::serve(const SecondProcess::Task& task) {
  AllReduceRun run(task);
  for (;;) {
    int32_t count = 0;
    run.group_->communicator().broadcast(&count, sizeof count, 1 - run.group_->rank()).or_throw();
    for (int32_t i = 0; i < count; ++i) {
      run.reset();
      run.step();
    }
  }
}

}  // namespace thalweg::bench

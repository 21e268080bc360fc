// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/triggers.h"

#include <algorithm>
#include <sstream>

#include "thalweg/error.h"

namespace thalweg::optim {
namespace {

template <typename Value>
std::string describe(const char* before, Value value, const char* after = "") {
  std::ostringstream text;
  text << before << value << after;
  return text.str();
}

std::string describe_all(const std::vector<Trigger>& triggers, const char* word) {
  std::string text = "(";
  for (const Trigger& trigger : triggers) {
    if (text.size() > 1) text += word;
    text += trigger.description();
  }
  return text + ")";
}

}  // namespace

Trigger::Trigger(std::string description, std::function<bool(const Progress&)> test)
    : description_(std::move(description)), test_(std::move(test)) {
  TW_REQUIRE(test_ != nullptr, "trigger \"", description_, "\" has no test");
}

Trigger every_epoch() {
  return {"every epoch", [](const Progress& progress) { return progress.epoch_ended; }};
}

Trigger several_iterations(int64_t count) {
  TW_REQUIRE(count > 0, "trigger: every ", count, " iterations");
  return {describe("every ", count, " iterations"),
          [count](const Progress& progress) { return progress.iteration > 0 && progress.iteration % count == 0; }};
}

Trigger max_epoch(int64_t count) {
  TW_REQUIRE(count >= 0, "trigger: after ", count, " epochs");
  return {describe("after ", count, " epochs"), [count](const Progress& progress) { return progress.epoch >= count; }};
}

Trigger max_iteration(int64_t count) {
  TW_REQUIRE(count >= 0, "trigger: after ", count, " iterations");
  return {describe("after ", count, " iterations"),
          [count](const Progress& progress) { return progress.iteration >= count; }};
}

Trigger max_score(double score) {
  return {describe("score above ", score), [score](const Progress& progress) { return progress.score > score; }};
}

Trigger min_loss(double loss) {
  return {describe("loss below ", loss), [loss](const Progress& progress) { return progress.loss < loss; }};
}

Trigger any_of(std::vector<Trigger> triggers) {
  TW_REQUIRE(!triggers.empty(), "trigger: any of none");
  std::string description = describe_all(triggers, " or ");
  return {std::move(description), [triggers = std::move(triggers)](const Progress& progress) {
            return std::any_of(triggers.begin(), triggers.end(),
                               [&](const Trigger& trigger) { return trigger(progress); });
          }};
}

Trigger all_of(std::vector<Trigger> triggers) {
  TW_REQUIRE(!triggers.empty(), "trigger: all of none");
  std::string description = describe_all(triggers, " and ");
  return {std::move(description), [triggers = std::move(triggers)](const Progress& progress) {
            return std::all_of(triggers.begin(), triggers.end(),
                               [&](const Trigger& trigger) { return trigger(progress); });
          }};
}

}  // namespace thalweg::optim

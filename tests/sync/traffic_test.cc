// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// How much each worker sends in a step, over TCP, where every byte passes between two workers.
#include <gtest/gtest.h>

#include <cmath>

#include "sync/plain_trainee.h"
#include "sync/workers.h"

namespace thalweg::testing {
namespace {

constexpr int64_t kFloats = 100000;
constexpr double kBytes = kFloats * sizeof(float);
/// The loss and what else all agree on, and headers of codes.
constexpr double kRest = 2000;

/// That as much as the scheme needs was sent or received, and little more.
void expect_bytes(uint64_t bytes, double needed, const std::string& what) {
  const auto got = static_cast<double>(bytes);
  EXPECT_GE(got, 0.97 * needed) << what;
  EXPECT_LE(got, needed + kRest) << what;
}

/// Of each worker, by rank, in one step.
std::vector<comm::Traffic> traffic_of_step(int workers, const sync::SchemeOptions& options) {
  const comm::Rendezvous rendezvous(quiet_rendezvous(workers, workers));
  std::vector<comm::Traffic> result(static_cast<size_t>(workers));
  // Nobody leaves before all are done.
  std::vector<std::shared_ptr<comm::Group>> groups(static_cast<size_t>(workers));
  std::vector<std::future<void>> pending;
  for (std::shared_ptr<comm::Group>& group : groups) {
    pending.push_back(std::async(std::launch::async, [&] {
      group = comm::Group::join(member_of(rendezvous.address(), comm::Path::kTcp));
      PlainTrainee trainee({{kFloats}}, optim::sgd());
      const std::shared_ptr<Scheme> scheme = sync::make_scheme(options, group);
      scheme->start(trainee);
      std::vector<float> gradient(kFloats);
      for (size_t k = 0; k < gradient.size(); ++k) gradient[k] = std::sin(static_cast<float>(k));
      const auto step = [&] {
        scheme->add_gradient({trainee.trained()[0].variable, gradient.data(), kFloats, nullptr, nullptr, 0}, 1.0);
        StepTotals totals{1.0, 1.0, false, false};
        scheme->exchange(totals);
        ++trainee.steps;
        scheme->after_update();
      };
      // The first may have more to hand over.
      step();
      const comm::Traffic before = group->communicator().traffic();
      step();
      const comm::Traffic after = group->communicator().traffic();
      result[static_cast<size_t>(group->rank())] = {after.sent_bytes - before.sent_bytes,
                                                    after.received_bytes - before.received_bytes, 0, 0};
    }));
  }
  for (auto& entry : pending) entry.get();
  return result;
}

std::string workers_text(int workers) { return std::to_string(workers) + " workers"; }

TEST(TrafficOfAStep, OwnersSendTwiceAllPartsButOne) {
  for (const int workers : {2, 3, 4}) {
    for (const comm::Traffic& traffic : traffic_of_step(workers, {.name = "bigdl", .options = {{"copies", 0}}})) {
      expect_bytes(traffic.sent_bytes, 2 * kBytes * (workers - 1) / workers, workers_text(workers));
    }
  }
}

TEST(TrafficOfAStep, ATreeHasAsManyStepsAsTheNumberOfWorkersHasBits) {
  for (const int workers : {2, 3, 4, 5}) {
    const auto traffic = traffic_of_step(workers, {.name = "firecaffe", .options = {{"copies", 0}}});
    const double hops = std::ceil(std::log2(workers));
    // The root takes in one message after the other, and no worker more.
    expect_bytes(traffic[0].received_bytes, hops * kBytes, workers_text(workers));
    expect_bytes(traffic[0].sent_bytes, hops * kBytes, workers_text(workers));
    // Who has no children sends its own, and gets the weights.
    expect_bytes(traffic[1].sent_bytes, kBytes, workers_text(workers));
    expect_bytes(traffic[1].received_bytes, kBytes, workers_text(workers));
  }
}

TEST(TrafficOfAStep, CodesGoUpATreeEachAsItIs) {
  const auto traffic = traffic_of_step(4, {.name = "firecaffe", .compression = "signsgd", .options = {{"copies", 0}}});
  expect_bytes(traffic[1].sent_bytes, kFloats / 8.0, "a leaf");
  expect_bytes(traffic[2].sent_bytes, 2 * kFloats / 8.0 + kBytes, "one with a child, which gets the weights from it");
  expect_bytes(traffic[0].received_bytes, 3 * kFloats / 8.0, "the root");
}

TEST(TrafficOfAStep, CompressionMakesItShorter) {
  struct Case {
    const char* name;
    double bits;
  };
  for (const Case& one : {Case{"bf16", 16}, Case{"terngrad", 2}, Case{"qsgd", 4.1}, Case{"signsgd", 1}}) {
    sync::SchemeOptions options{.name = "pytorch", .compression = one.name};
    if (std::string(one.name) == "signsgd") options.options["copy_every"] = 0;
    for (const comm::Traffic& traffic : traffic_of_step(2, options)) {
      expect_bytes(traffic.sent_bytes, kFloats * one.bits / 8, one.name);
    }
  }
  for (const comm::Traffic& traffic :
       traffic_of_step(2, {.name = "pytorch", .compression = "topk", .options = {{"copy_every", 1000}}})) {
    // A thousandth of the elements, with their places, and a thousandth of what is kept.
    expect_bytes(traffic.sent_bytes, kFloats * 0.001 * (8 + 4), "topk");
  }
}

}  // namespace
}  // namespace thalweg::testing

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sync/scheme_checks.h"

// The tests that every preset passes. A new one joins by a row of `scheme_rows`.

namespace thalweg::testing {

inline const std::vector<SchemeRow>& scheme_rows() {
  const auto of_one = [](const std::string& name) {
    const sync::SchemeOptions scheme{.name = name};
    return SchemeRow{scheme, Outcome::kOfOneWorker, [scheme](int workers) { expect_one_worker(scheme, workers); }};
  };
  const auto averages = [](const std::string& name) {
    const sync::SchemeOptions scheme{.name = name, .options = {{"period", 5}}},
        often{.name = name, .options = {{"period", 1}}};
    return SchemeRow{scheme, Outcome::kRepeatable,
                     [often](int workers) { expect_same(often, {.name = "allreduce"}, workers, 1e-5); }};
  };
  static const std::vector<SchemeRow> rows = {
      of_one("allreduce"),
      of_one("sharded"),
      // The optimiser's state of a part whose server is lost starts afresh.
      {{.name = "ssp", .options = {{"staleness", 1}}},
       Outcome::kGood,
       [](int workers) { expect_one_worker({.name = "ssp"}, workers); }},
      averages("localsgd"),
      of_one("pytorch"),
      of_one("bigdl"),
      of_one("caffeonspark"),
      of_one("firecaffe"),
      averages("sparknet"),
      {{.name = "diloco", .options = {{"period", 5}}},
       Outcome::kRepeatable,
       [](int workers) {
         expect_same({.name = "diloco", .options = {{"period", 1}, {"outer_rate", 1}, {"outer_momentum", 0}}},
                     {.name = "localsgd", .options = {{"period", 1}}}, workers, 1e-5);
       }},
      // neighbour_rule_test.cc has the mean and the eigenvalue of the paper. With two workers and nothing to average
      // over but both, meeting at every step is the mean of weights before the step, and an update each.
      {{.name = "d-psgd", .options = {{"news", 5}}},
       Outcome::kRepeatable,
       [](int workers) {
         const SmallJob job;
         const auto results = train_group(workers, job, {.name = "d-psgd"});
         EXPECT_LT(loss_of(results[0]), 0.3 * untrained_loss());
         EXPECT_GT(difference(results[0], train_alone(job)), 1e-4) << "it is not decentral";
         const double mixed = disagreement({.name = "d-psgd"}, workers),
                      apart = disagreement({.name = "localsgd", .options = {{"period", 1000}}}, workers);
         EXPECT_GT(mixed, 0) << "it is not decentral";
         EXPECT_LT(mixed, 0.5 * apart) << "neighbours do not mix";
       }},
      {{.name = "petuum"},
       Outcome::kGood,
       [](int workers) {
         expect_one_worker({.name = "petuum", .options = {{"staleness", 0}}}, workers);
       }},
      {{.name = "distbelief"},
       Outcome::kGood,
       [](int workers) {
         expect_one_worker({.name = "distbelief"}, 1);
         expect_nobody_waits({.name = "distbelief"}, workers);
       }},
      // parameter_server_test.cc shows that gradients of older steps are dropped and counted.
      {{.name = "tensorflow"},
       Outcome::kGood,
       [](int workers) {
         expect_one_worker({.name = "tensorflow", .options = {{"backup", 0}}}, workers);
         expect_nobody_waits({.name = "tensorflow"}, workers);
       }},
      // gossip_rule_test.cc has the conservation of shares and weights.
      {{.name = "gosgd", .options = {{"probability", 0.3}}},
       Outcome::kGood,
       [](int workers) {
         expect_nobody_waits({.name = "gosgd"}, workers);
         expect_mixing({.name = "gosgd", .options = {{"probability", 0.5}}},
                       {.name = "gosgd", .options = {{"probability", 0}}}, workers);
       },
       0.9,
       std::chrono::milliseconds(2)},
      // elastic_rule_test.cc has the conservation of weights and center.
      {{.name = "easgd", .options = {{"period", 2}}},
       Outcome::kGood,
       [](int workers) {
         expect_nobody_waits({.name = "easgd"}, workers);
         expect_center_moves("easgd", SmallJob().momentum, workers);
       },
       0.9,
       std::chrono::milliseconds(2)},
      // With a momentum that a short run can do with; elastic_rule_test.cc has Nesterov's form.
      {{.name = "eamsgd", .options = {{"period", 2}, {"momentum", 0.8}}},
       Outcome::kGood,
       [](int workers) { expect_center_moves("eamsgd", 0, workers); },
       0,
       std::chrono::milliseconds(2),
       // 0.99 takes longer than some epochs of digits.
       {.options = {{"momentum", 0.9}}, .momentum = 0, .rate = 0.02}},
      // elastic_tree_rule_test.cc has the conservation along edges, and the periods.
      {{.name = "tree-easgd", .options = {{"leaf_period", 2}, {"inner_period", 4}}},
       Outcome::kGood,
       [](int workers) {
         expect_nobody_waits({.name = "tree-easgd"}, workers);
         expect_mixing({.name = "tree-easgd", .options = {{"leaf_period", 1}, {"inner_period", 1}}},
                       {.name = "tree-easgd", .options = {{"beta", 0}}}, workers);
       },
       0.9,
       std::chrono::milliseconds(2)},
      // anchor_rule_test.cc has the rule, and what it becomes without pull and with a full one.
      {{.name = "mpca-sgd", .options = {{"period", 2}}},
       Outcome::kGood,
       [](int workers) {
         expect_nobody_waits({.name = "mpca-sgd"}, workers);
         expect_independent({.name = "mpca-sgd", .options = {{"pull", 0}}},
                            {.name = "mpca-sgd", .options = {{"period", 2}}}, workers);
       },
       0.9,
       std::chrono::milliseconds(2)},
      // two_level_exchange_test.cc has several hosts.
      of_one("mxnet"),
      // parameter_server_test.cc shows that a lost server's range lives on, and what the filter leaves out.
      {{.name = "parameter-server"},
       Outcome::kGood,
       [](int workers) {
         expect_one_worker({.name = "parameter-server", .options = {{"staleness", 0}}}, workers);
         expect_good({.name = "parameter-server", .options = {{"filter", 0.01}}}, workers);
       },
       0.9,
       std::chrono::milliseconds(2)},
      // factors_test.cc has layers wide enough for activations and errors to travel.
      {{.name = "project-adam"},
       Outcome::kGood,
       [](int workers) {
         expect_one_worker({.name = "project-adam", .options = {{"staleness", 0}}}, workers);
         expect_nobody_waits({.name = "project-adam"}, workers);
       },
       0.9,
       std::chrono::milliseconds(2)},
      // chosen_scheme_test.cc shows that it chooses as it should, and trains as what it has chosen.
      {{.name = "auto", .options = {{"steps", 3}}},
       Outcome::kGood,
       [](int workers) { expect_good({.name = "auto"}, workers); },
       0.9,
       std::chrono::milliseconds(2)},
  };
  return rows;
}

/// For the names of tests.
inline std::string name_of(const ::testing::TestParamInfo<SchemeRow>& test) {
  std::string name = test.param.scheme.name;
  std::erase(name, '-');
  return name;
}

class EveryPreset : public ::testing::TestWithParam<SchemeRow> {
 protected:
  const SchemeRow& row() const { return GetParam(); }
  SmallJob small_job() const {
    SmallJob job;
    job.momentum = row().momentum;
    job.pause = row().pause;
    return job;
  }

  /// One of `workers` is lost after some steps.
  void lose_one(int workers, int64_t lost_at) const {
    const comm::Rendezvous rendezvous(quiet_rendezvous(1, workers));
    const SmallJob job = small_job();
    std::vector<std::future<std::vector<NamedTensor>>> others;
    for (int i = 1; i < workers; ++i) {
      others.push_back(std::async(std::launch::async,
                                  [&] { return train_member(job, row().scheme, rendezvous.address(), nullptr); }));
    }
    auto lost = std::async(std::launch::async, [&] {
      return train_member(job, row().scheme, rendezvous.address(), std::make_shared<LeaveAt>(lost_at));
    });
    EXPECT_THROW(lost.get(), Error);
    std::vector<std::vector<NamedTensor>> results;
    for (auto& entry : others) results.push_back(entry.get());
    expect_outcome(row(), job, results);
    EXPECT_GE(rendezvous.state().epoch, 2U);
  }

  /// Somebody comes when the others have made some steps.
  void admit_one(int workers) const {
    const comm::Rendezvous rendezvous(open_rendezvous(workers - 1, workers));
    const SmallJob job = small_job();
    std::vector<std::shared_ptr<Watch>> watches;
    std::vector<std::future<std::vector<NamedTensor>>> pending;
    const auto add = [&] {
      watches.push_back(watch_until(workers));
      pending.push_back(std::async(std::launch::async, [&, watch = watches.back()] {
        return train_member(job, row().scheme, rendezvous.address(), watch);
      }));
    };
    for (int i = 1; i < workers; ++i) add();
    EXPECT_TRUE(eventually([&] { return watches[0]->steps >= 3; }));
    add();
    std::vector<std::vector<NamedTensor>> results;
    for (auto& entry : pending) results.push_back(entry.get());
    expect_outcome(row(), job, results);
    EXPECT_EQ(watches.back()->losses.at(1), 0) << "it was there from the beginning";
    EXPECT_NE(watches.back()->losses.back(), 0) << "it was never admitted";
  }

  /// A run of 60 steps, and one that goes on from a checkpoint of step 33, which lies between two exchanges.
  void resume_one(int workers) const {
    const TemporaryDirectory folder;
    SmallJob job = small_job();
    job.options.end = optim::max_iteration(33);
    job.options.checkpoints = {.directory = folder.path().string(), .when = optim::several_iterations(33)};
    train_group(workers, job, row().scheme);
    const std::string checkpoint = (folder.path() / "step-00000033").string();
    ASSERT_TRUE(std::filesystem::exists(checkpoint));
    const SmallJob whole = small_job();
    const auto resumed = train_group(workers, whole, row().scheme, checkpoint);
    expect_outcome(row(), whole, resumed);
    if (row().outcome != Outcome::kRepeatable) return;
    EXPECT_LT(difference(resumed[0], train_group(workers, whole, row().scheme)[0]), 1e-6);
    // Another number of workers can go on from it too.
    expect_outcome(row(), whole, train_group(workers + 1, whole, row().scheme, checkpoint));
  }
};

}  // namespace thalweg::testing

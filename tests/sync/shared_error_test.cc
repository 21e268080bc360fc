// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "support/error_text.h"
#include "sync/group_scheme.h"
#include "sync/workers.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::chrono::milliseconds kLate{400};

/// Worker 1 reads what worker 0 has sent when that one has long had everything and, if it found an error in it, left.
class LateNews : public sync::GroupScheme {
 public:
  explicit LateNews(std::shared_ptr<comm::Group> group) : GroupScheme(std::move(group), {}) {}

  GradientPath gradient_path() const override { return GradientPath::kHandedOver; }
  Update exchange(StepTotals& totals) override {
    const int other = 1 - group().rank();
    double theirs = 0;
    require(communicator().send(other, 1, &totals.loss, sizeof totals.loss));
    if (group().rank() == 1) std::this_thread::sleep_for(kLate);
    require(communicator().receive(other, 1, &theirs, sizeof theirs));
    totals.loss += theirs;
    totals.of_all = true;
    return {};
  }

 protected:
  void prepare(Trainee& /*trainee*/) override {}
};

data::TensorDataset data_with(float target) {
  Tensor y = random_tensor(DType::kF32, {64, 3}, 22);
  y.data<float>()[0] = target;
  return data::TensorDataset({random_tensor(DType::kF32, {64, 12}, 21)}, {y});
}

/// What ends the training of each of two workers, which share batches of bad data by way of LateNews.
std::vector<std::string> errors_of_two(comm::Path path) {
  const data::TensorDataset bad = data_with(std::numeric_limits<float>::infinity());
  const comm::Rendezvous rendezvous(quiet_rendezvous(2, 2));
  comm::GroupOptions member = member_of(rendezvous.address(), path);
  member.form_timeout = patience();
  std::vector<std::future<std::string>> pending;
  for (int i = 0; i < 2; ++i) {
    pending.push_back(std::async(std::launch::async, [&] {
      return error_text([&] {
        Model model(two_layers());
        TrainOptions options = group_train_options();
        options.scheme = std::make_shared<LateNews>(comm::Group::join(member));
        Trainer(model, squared_error(), optim::sgd(), options).fit(bad);
      });
    }));
  }
  std::vector<std::string> errors;
  for (auto& entry : pending) errors.push_back(entry.get());
  return errors;
}

TEST(SharedError, ReachesWhoeverWouldHaveComeToItLater) {
  for (const comm::Path path : {comm::Path::kTcp, comm::Path::kAuto}) {
    for (const std::string& error : errors_of_two(path)) {
      EXPECT_THAT(error, HasSubstr("the loss is"));
      EXPECT_THAT(error, Not(HasSubstr("did not begin")));
    }
  }
}

TEST(SharedError, AnotherLayoutIsToldToAll) {
  const comm::Rendezvous rendezvous(quiet_rendezvous(2, 2));
  const data::TensorDataset data = data_with(0);
  std::vector<std::future<std::string>> pending;
  for (const char* name : {"weight", "scale"}) {
    pending.push_back(std::async(std::launch::async, [&, name] {
      return error_text([&] {
        auto graph = std::make_unique<Graph>("one_layer");
        Value* x = graph->input("x", {DType::kF32, {kFree, 12}});
        graph->mark_output(ops::linear(x, graph->parameter(name, Tensor::zeros(DType::kF32, {3, 12}))));
        Model model(std::move(graph));
        TrainOptions options = group_train_options();
        options.scheme = sync::make_scheme({}, comm::Group::join(member_of(rendezvous.address())));
        Trainer(model, squared_error(), optim::sgd(), options).fit(data);
      });
    }));
  }
  for (auto& error : pending) EXPECT_THAT(error.get(), HasSubstr("lie in memory in another way"));
  EXPECT_THAT(rendezvous.state().error, HasSubstr("lie in memory in another way"));
}

}  // namespace
}  // namespace thalweg::testing

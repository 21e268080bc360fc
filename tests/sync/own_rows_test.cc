// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Workers that each have rows of their own, in any numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "support/error_text.h"
#include "sync/callbacks.h"
#include "sync/workers.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

/// Rows [first, first + count) of the data.
std::shared_ptr<data::RowStore> rows_of(const data::TensorDataset& data, int64_t first, int64_t count) {
  std::vector<data::RowField> fields(2);
  fields[0].name = "x";
  fields[0].type = {DType::kF32, {12}};
  fields[1].name = "y";
  fields[1].role = data::RowField::Role::kTarget;
  fields[1].type = {DType::kF32, {3}};
  auto rows = std::make_shared<data::RowStore>(fields);
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(first + i);
  const data::Batch batch = data.fetch(numbers);
  const auto bytes = [](const Tensor& tensor) {
    return std::span<const std::byte>(static_cast<const std::byte*>(tensor.raw()), tensor.num_bytes());
  };
  rows->append({count, {{bytes(batch.inputs[0])}, {bytes(batch.targets[0])}}});
  return rows;
}

class OwnRows : public ::testing::Test {
 protected:
  /// Worker `seat` of the group, with its own part of the data; `parts` are the numbers of rows of all.
  std::vector<NamedTensor> train(const std::string& address, int seat, const std::vector<int64_t>& parts,
                                 int64_t leave_at = -1) {
    int64_t first = 0;
    for (int i = 0; i < seat; ++i) first += parts[static_cast<size_t>(i)];
    sync::SchemeOptions scheme;
    scheme.name = scheme_;
    scheme.rows = rows_of(data_, first, parts[static_cast<size_t>(seat)]);
    comm::GroupOptions membership = member_of(address);
    membership.seat = seat;
    TrainOptions options = options_;
    options.scheme = sync::make_scheme(scheme, comm::Group::join(membership));
    options.callbacks = {std::make_shared<LeaveAt>(leave_at)};
    Model model(two_layers());
    Trainer trainer(model, squared_error(), smooth_adam(), options);
    trainer.fit(*scheme.rows);
    return parameters_of(model);
  }

  std::vector<NamedTensor> train_all(const std::vector<int64_t>& parts, int leaver = -1) {
    const auto workers = static_cast<int>(parts.size());
    const comm::Rendezvous rendezvous(quiet_rendezvous(workers, workers));
    std::vector<std::future<std::vector<NamedTensor>>> pending;
    for (int seat = 0; seat < workers; ++seat) {
      pending.push_back(std::async(std::launch::async, [&, seat] {
        if (seat == leaver) {
          EXPECT_THROW(train(rendezvous.address(), seat, parts, 4), Error);
        }
        return train(rendezvous.address(), seat, parts);
      }));
    }
    std::vector<NamedTensor> first = pending[0].get();
    for (size_t i = 1; i < pending.size(); ++i) EXPECT_LT(difference(first, pending[i].get()), 1e-6);
    return first;
  }

  std::string scheme_ = "allreduce";
  TrainOptions options_ = group_train_options();
  const data::TensorDataset data_ = two_layers_data(150);
};

TEST_F(OwnRows, AllRowsAreUsedOnceWhereverTheyCame) {
  // Of a batch of all rows the order does not matter.
  options_.batch_size = 150;
  options_.epochs = 5;
  Model model(two_layers());
  Trainer trainer(model, squared_error(), smooth_adam(), options_);
  trainer.fit(data_);
  const std::vector<NamedTensor> expected = parameters_of(model);
  for (const std::vector<int64_t>& parts :
       std::vector<std::vector<int64_t>>{{150}, {75, 75}, {0, 150}, {150, 0, 0}, {1, 140, 9}, {50, 0, 40, 60}}) {
    EXPECT_LT(difference(train_all(parts), expected), 1e-5);
  }
}

TEST_F(OwnRows, FewerRowsThanWorkers) { EXPECT_NO_THROW(train_all({2, 0, 0})); }

TEST_F(OwnRows, AWorkerThatComesBackFindsTheRowsThatOthersHadSentIt) {
  for (const char* scheme : {"allreduce", "sharded"}) {
    scheme_ = scheme;
    options_.batch_size = 40;
    const std::vector<int64_t> parts = {20, 100, 30};
    const std::vector<NamedTensor> undisturbed = train_all(parts);
    for (int leaver = 0; leaver < 3; ++leaver) EXPECT_LT(difference(train_all(parts, leaver), undisturbed), 1e-6);
  }
}

TEST_F(OwnRows, NoRowsAnywhereIsAnError) {
  EXPECT_THAT(error_text([&] { train_all({0, 0}); }), HasSubstr("there are no rows to train on"));
}

TEST_F(OwnRows, AMemberThatIsToldToLeaveStopsLookingForTheRendezvous) {
  comm::GroupOptions membership = member_of("127.0.0.1:1");
  membership.form_timeout = 10 * patience();
  const auto cancelled = std::make_shared<std::atomic<bool>>(false);
  membership.cancelled = cancelled;
  auto pending = std::async(std::launch::async, [&] { return error_text([&] { comm::Group::join(membership); }); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  cancelled->store(true);
  EXPECT_TRUE(comes(pending)) << "it went on looking";
  EXPECT_THAT(pending.get(), HasSubstr("cannot join the group"));
}

TEST_F(OwnRows, AMemberThatIsToldToLeaveDoesSo) {
  const comm::Rendezvous rendezvous(quiet_rendezvous(2, 2));
  comm::GroupOptions membership = member_of(rendezvous.address());
  const auto cancelled = std::make_shared<std::atomic<bool>>(false);
  membership.seat = 0;
  membership.form_timeout = 10 * patience();
  membership.cancelled = cancelled;
  auto pending = std::async(std::launch::async, [&] { return error_text([&] { comm::Group::join(membership); }); });
  ASSERT_TRUE(eventually([&] { return rendezvous.state().present == 1; }));
  cancelled->store(true);
  EXPECT_TRUE(comes(pending)) << "it waits for the other";
  EXPECT_THAT(pending.get(), HasSubstr("told to leave"));
}

}  // namespace
}  // namespace thalweg::testing

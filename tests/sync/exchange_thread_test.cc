// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/exchange_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>

#include "support/error_text.h"
#include "sync/workers.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

class ExchangeThreads : public ::testing::Test {
 protected:
  const comm::Rendezvous rendezvous_{quiet_rendezvous(1, 1)};
  const std::unique_ptr<comm::Group> group_ = comm::Group::join(member_of(rendezvous_.address()));
  sync::ExchangeThread thread_{group_->communicator()};
};

TEST_F(ExchangeThreads, AnErrorReachesTheOneThatWaits) {
  bool later = false;
  thread_.post([]() -> comm::Status { throw Error("injected"); });
  thread_.post([&]() -> comm::Status {
    later = true;
    return {};
  });
  EXPECT_THAT(error_text([&] { (void)thread_.wait(); }), HasSubstr("injected"));
  EXPECT_FALSE(later) << "the rest is left out";
}

TEST_F(ExchangeThreads, GoesOnAfterItHasReportedAnError) {
  thread_.post([]() -> comm::Status { throw std::bad_alloc(); });
  EXPECT_THROW((void)thread_.wait(), std::bad_alloc);
  EXPECT_TRUE(thread_.wait().ok());
  thread_.post([]() -> comm::Status { return comm::Failure{comm::FailureKind::kTimeout, 3, "reported", 0}; });
  const comm::Status status = thread_.wait();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.failure().what, "reported");
}

TEST_F(ExchangeThreads, TellsHowFarItIs) {
  std::promise<void> proceed;
  std::vector<int> done;
  const auto task = [&](int number) {
    return [&done, number]() -> comm::Status {
      done.push_back(number);
      return {};
    };
  };
  thread_.post(task(1));
  EXPECT_TRUE(thread_.wait_for(1));
  EXPECT_EQ(done, std::vector<int>{1});
  thread_.post([&]() -> comm::Status {
    proceed.get_future().wait();
    return comm::Failure{comm::FailureKind::kTimeout, 3, "reported", 0};
  });
  thread_.post(task(3));
  EXPECT_TRUE(thread_.wait_for(1)) << "what is under way has not failed yet";
  proceed.set_value();
  EXPECT_FALSE(thread_.wait_for(3));
  EXPECT_FALSE(thread_.wait().ok());
  thread_.post(task(4));
  EXPECT_TRUE(thread_.wait_for(1)) << "it counts anew";
  EXPECT_EQ(done, (std::vector<int>{1, 4}));
}

TEST(ExchangeThread, TheOthersGoOnWithoutAWorkerWhoseExchangeThrows) {
  const comm::Rendezvous rendezvous(quiet_rendezvous(1, 2));
  std::vector<std::future<std::string>> pending;
  for (const bool fails : {true, false}) {
    pending.push_back(std::async(std::launch::async, [&rendezvous, fails] {
      return error_text([&] {
        const std::unique_ptr<comm::Group> group = comm::Group::join(member_of(rendezvous.address()));
        sync::ExchangeThread thread(group->communicator());
        std::vector<float> values(1000, 1.0F);
        thread.post([&]() -> comm::Status {
          if (fails) throw Error("injected");
          return group->communicator().all_reduce(values.data(), values.size(), DType::kF32);
        });
        thread.wait().or_throw();
      });
    }));
  }
  EXPECT_THAT(pending[0].get(), HasSubstr("injected"));
  EXPECT_THAT(pending[1].get(), HasSubstr("lost"));
}

}  // namespace
}  // namespace thalweg::testing

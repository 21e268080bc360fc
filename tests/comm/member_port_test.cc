// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Strangers at the port where a member takes connections of its peers, while a group forms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>

#include "comm/control_channel.h"
#include "comm/socket.h"
#include "support/patience.h"

namespace thalweg::testing {
namespace {

using comm::FileDescriptor;
using ::testing::HasSubstr;

constexpr const char* kSecret = "secret";
const std::chrono::milliseconds kLong = 2 * patience();

/// Member 0 waits for the connection of member 1, who is known to the rendezvous and does nothing more.
class MemberPort : public ::testing::TestWithParam<bool> {
 protected:
  MemberPort() {
    comm::RendezvousOptions meeting;
    meeting.secret = kSecret;
    meeting.tls = GetParam();
    meeting.min_size = meeting.max_size = 2;
    meeting.silence = kLong;
    meeting.log = [](const std::string&) {};
    rendezvous_ = std::make_unique<comm::Rendezvous>(meeting);
    waits_ = std::async(std::launch::async, [this] { return comm::Group::join(options_of(0)); });
    idle_.emplace(options_of(1), comm::MemberInfo{"idle", "idle", "other host", "", "", "l", 1}, 1, deadline_, false);
    port_ = comm::Address::parse(idle_->next(0, "")->view.members.at(0).address).port;
  }

  comm::GroupOptions options_of(int seat) {
    comm::GroupOptions options;
    options.rendezvous = rendezvous_->address();
    options.secret = kSecret;
    options.tls = GetParam();
    options.path = comm::Path::kTcp;
    options.seat = seat;
    options.silence = kLong;
    options.log = [this](const std::string& line) {
      const std::lock_guard<std::mutex> lock(mutex_);
      log_ += line + "\n";
      changed_.notify_all();
    };
    return options;
  }
  FileDescriptor connect() {
    std::string error;
    FileDescriptor socket = comm::connect_tcp({"127.0.0.1", port_}, deadline_, error);
    TW_REQUIRE(socket.valid(), error);
    return socket;
  }
  bool logged(const std::string& text) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, kLong, [&] { return log_.find(text) != std::string::npos; });
  }
  /// Somebody who does what member 1 should takes its place.
  void expect_group() {
    idle_.reset();
    auto comes = std::async(std::launch::async, [this] { return comm::Group::join(options_of(1)); });
    const auto a = waits_.get(), b = comes.get();
    auto barrier = std::async(std::launch::async, [&] { return a->communicator().barrier().ok(); });
    EXPECT_TRUE(b->communicator().barrier().ok());
    EXPECT_TRUE(barrier.get());
  }

  const Deadline deadline_{kLong};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string log_;
  std::unique_ptr<comm::Rendezvous> rendezvous_;
  std::future<std::unique_ptr<comm::Group>> waits_;
  std::optional<comm::ControlChannel> idle_;
  int port_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Wires, MemberPort, ::testing::Bool(),
                         [](const auto& test) { return std::string(test.param ? "tcp_tls" : "tcp"); });

TEST_P(MemberPort, GarbageIsRefusedWithALine) {
  const FileDescriptor socket = connect();
  const std::string garbage(1000, 'x');
  std::string error;
  ASSERT_TRUE(comm::write_all(socket, garbage.data(), garbage.size(), deadline_, error)) << error;
  EXPECT_TRUE(logged("refused 127.0.0.1:"));
  EXPECT_TRUE(logged("it does not know the group's secret"));
  expect_group();
}

TEST_P(MemberPort, AWrongSecretIsRefusedWithALine) {
  std::string error;
  EXPECT_EQ(comm::open_link(connect(), {"a guess", GetParam()}, deadline_, error), nullptr);
  EXPECT_THAT(error, HasSubstr("secrets differ"));
  EXPECT_TRUE(logged("it does not know the group's secret"));
  expect_group();
}

TEST_P(MemberPort, WhoKnowsTheSecretButIsNotMissingIsRefusedWithALine) {
  std::string error;
  std::unique_ptr<comm::Link> link = comm::open_link(connect(), {kSecret, GetParam()}, deadline_, error);
  ASSERT_NE(link, nullptr) << error;
  comm::Connection connection(std::move(link));
  ASSERT_TRUE(connection.send_and_flush({{"epoch", 1}, {"rank", 7}, {"stream", 0}}, deadline_));
  EXPECT_TRUE(logged("no connection of rank 7 is missing"));
  expect_group();
}

TEST_P(MemberPort, SilenceIsRefusedWithALine) {
  const FileDescriptor socket = connect();
  EXPECT_TRUE(logged("nothing heard for"));
  expect_group();
}

TEST_P(MemberPort, TooManyAreRefusedWithALine) {
  std::vector<FileDescriptor> sockets;
  for (int i = 0; i < 70; ++i) sockets.push_back(connect());
  EXPECT_TRUE(logged("more than 64 others have not shown the secret either"));
  expect_group();
}

}  // namespace
}  // namespace thalweg::testing

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// More connections at once than a rendezvous would keep open for strangers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <fstream>
#include <future>
#include <list>
#include <mutex>
#include <sstream>

#include "comm/control_channel.h"
#include "comm/socket.h"
#include "comm/socket_pair.h"
#include "comm/strangers.h"
#include "support/error_text.h"
#include "support/patience.h"

namespace thalweg::testing {
namespace {

using comm::ControlChannel;
using comm::FileDescriptor;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kSecret = "secret";
const std::chrono::milliseconds kLong = 2 * patience();

/// Connections to a port of this host that are established, also those that nobody has accepted yet.
int connections_to(int port) {
  std::ifstream table("/proc/self/net/tcp");
  std::string line, number, local, remote, state;
  int count = 0;
  while (std::getline(table, line)) {
    std::istringstream(line) >> number >> local >> remote >> state;
    const size_t colon = remote.find(':');
    if (state == "01" && colon != std::string::npos && std::stoi(remote.substr(colon + 1), nullptr, 16) == port)
      ++count;
  }
  return count;
}

/// A rendezvous that stands still while it is held.
class Crowd : public ::testing::Test {
 protected:
  void start(int size) {
    comm::RendezvousOptions options;
    options.secret = kSecret;
    options.min_size = options.max_size = size;
    options.silence = options.form_timeout = kLong;
    options.log = [this](const std::string& line) {
      std::unique_lock<std::mutex> lock(mutex_);
      log_ += line + "\n";
      changed_.notify_all();
      changed_.wait(lock, [&] { return !held_; });
    };
    rendezvous_ = std::make_unique<comm::Rendezvous>(options);
  }
  void TearDown() override { hold(false); }
  void hold(bool held) {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  bool logged(const std::string& text) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, kLong, [&] { return log_.find(text) != std::string::npos; });
  }
  std::string log() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return log_;
  }
  int port() const { return comm::Address::parse(rendezvous_->address()).port; }

  comm::GroupOptions options_of_member() const {
    comm::GroupOptions options;
    options.rendezvous = rendezvous_->address();
    options.secret = kSecret;
    options.silence = kLong;
    return options;
  }
  /// Of the first epoch that this member is in, which needs no connections to the others.
  std::future<size_t> size_of_group(int index) const {
    return std::async(std::launch::async, [this, index] {
      const std::string id = std::to_string(index);
      const Deadline deadline(kLong);
      ControlChannel channel(options_of_member(), {id, "worker " + id, id, "", "", id}, 1, deadline, false);
      return channel.next(0, "")->view.members.size();
    });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  std::string log_;
  std::unique_ptr<comm::Rendezvous> rendezvous_;
};

TEST_F(Crowd, AsManyMembersAsTheGroupHasMayComeAtOnce) {
  constexpr int kMembers = 150;
  start(kMembers);
  hold(true);
  std::vector<std::future<size_t>> sizes;
  sizes.push_back(size_of_group(0));
  ASSERT_TRUE(logged("worker 0 has come"));
  for (int i = 1; i < kMembers; ++i) sizes.push_back(size_of_group(i));
  EXPECT_TRUE(eventually([&] { return connections_to(port()) >= kMembers; }));
  hold(false);
  for (auto& size : sizes) EXPECT_EQ(size.get(), size_t{kMembers});
  EXPECT_THAT(log(), Not(HasSubstr("refused")));
}

TEST_F(Crowd, StrangersBeyondTheLimitAreClosedWithALine) {
  start(2);
  const Deadline deadline(kLong);
  std::vector<FileDescriptor> strangers;
  for (int i = 0; i < 70; ++i) {
    std::string error;
    strangers.push_back(comm::connect_tcp({"127.0.0.1", port()}, deadline, error));
    ASSERT_TRUE(strangers.back().valid()) << error;
  }
  EXPECT_TRUE(logged("more than 64 others have not shown the secret either"));
  auto first = size_of_group(0), second = size_of_group(1);
  EXPECT_EQ(first.get(), 2U);
  EXPECT_EQ(second.get(), 2U);
}

TEST_F(Crowd, AWrongSecretIsAnErrorSoon) {
  start(2);
  comm::GroupOptions options = options_of_member();
  options.secret = "a guess";
  const Deadline deadline(kLong);
  const std::string text = error_text([&] { comm::Group::join(options); });
  EXPECT_THAT(text, HasSubstr("refused, most likely because the secrets differ"));
  EXPECT_LT(deadline.elapsed(), 60);
}

TEST(Excess, OnlyWhoHasNotShownTheSecretIsClosed) {
  struct Entry {
    comm::Connection connection;
  };
  std::vector<FileDescriptor> peers;
  std::list<Entry> entries;
  const auto add = [&](bool stranger) {
    SocketPair pair;
    entries.push_back({stranger ? comm::Connection(std::move(pair.ours), {kSecret})
                                : comm::Connection(std::make_unique<comm::SocketLink>(std::move(pair.ours)))});
    peers.push_back(std::move(pair.theirs));
  };
  for (const bool stranger : {false, true, true, false, true, true}) add(stranger);
  comm::give_up_excess(entries, 4);
  for (const Entry& entry : entries) EXPECT_EQ(entry.connection.error(), "");
  comm::give_up_excess(entries, 2);
  std::vector<bool> closed;
  for (const Entry& entry : entries) closed.push_back(!entry.connection.error().empty());
  EXPECT_THAT(closed, ::testing::ElementsAre(false, true, true, false, false, false));
}

/// What a rendezvous does that has no room at first.
TEST(CutOff, AMemberTriesAgain) {
  const FileDescriptor listener = comm::listen_tcp({"127.0.0.1", 0});
  auto served = std::async(std::launch::async, [&] {
    const Deadline deadline(kLong);
    std::string error;
    for (int attempt = 0;; ++attempt) {
      EXPECT_TRUE(comm::wait_ready(listener.get(), false, deadline));
      const FileDescriptor socket = comm::accept_one(listener);
      const comm::Responder responder({kSecret});
      comm::Response response;
      comm::Proof proof;
      EXPECT_TRUE(comm::write_all(socket, &responder.challenge(), sizeof(comm::Challenge), deadline, error)) << error;
      if (attempt == 0) continue;
      EXPECT_TRUE(comm::read_all(socket, &response, sizeof response, deadline, error)) << error;
      if (attempt == 1) continue;
      EXPECT_TRUE(responder.verify(response, proof, error)) << error;
      EXPECT_TRUE(comm::write_all(socket, &proof, sizeof proof, deadline, error)) << error;
      return attempt;
    }
  });
  comm::GroupOptions options;
  options.rendezvous = "127.0.0.1:" + std::to_string(comm::port_of(listener));
  options.secret = kSecret;
  EXPECT_EQ(error_text([&] {
              ControlChannel(options, {"id", "name", "host", "", "", "l"}, 1, Deadline(kLong), false);
            }),
            "no error");
  EXPECT_EQ(served.get(), 2);
}

/// Where peers are told to reach members that have come to the rendezvous by loopback.
class Addresses : public Crowd {
 protected:
  comm::MemberInfo info_of_member(const std::string& address) {
    start(1);
    comm::GroupOptions options = options_of_member();
    options.address = address;
    const Deadline deadline(kLong);
    ControlChannel channel(options, {"id", "name", "host", "", "", "l"}, 4711, deadline, false);
    return channel.next(0, "")->view.members.at(0);
  }
};

TEST_F(Addresses, AreThoseOfTheConnectionToTheRendezvous) {
  const comm::MemberInfo info = info_of_member("");
  EXPECT_EQ(info.address, "127.0.0.1:4711");
  const std::string outside = comm::outside_address();
  EXPECT_FALSE(comm::is_loopback(outside));
  EXPECT_EQ(info.outside, outside.empty() ? "" : (comm::Address{outside, 4711}.text()));
}

TEST_F(Addresses, CanBeSet) {
  const comm::MemberInfo info = info_of_member("worker-7.example");
  EXPECT_EQ(info.address, "worker-7.example:4711");
  EXPECT_EQ(info.outside, "");
}

TEST(Loopback, IsKnownByNumber) {
  for (const char* host : {"127.0.0.1", "127.0.1.1", "::1", "::ffff:127.0.0.1", "localhost"}) {
    EXPECT_TRUE(comm::is_loopback(host)) << host;
  }
  for (const char* host : {"10.0.0.1", "128.0.0.1", "::ffff:10.0.0.1", "fe80::1", "worker-7", ""}) {
    EXPECT_FALSE(comm::is_loopback(host)) << host;
  }
}

}  // namespace
}  // namespace thalweg::testing

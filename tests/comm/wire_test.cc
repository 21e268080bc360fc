// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Strangers, and members gone mad, at every socket that a group listens on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <random>

#include "comm/connection.h"
#include "comm/handshake.h"
#include "comm/message_stream.h"
#include "comm/socket.h"
#include "comm/socket_pair.h"
#include "support/error_text.h"
#include "support/patience.h"
#include "thalweg/comm.h"

namespace thalweg::testing {
namespace {

using comm::Connection;

using comm::FileDescriptor;
using ::testing::HasSubstr;

constexpr const char* kSecret = "secret";

void put(const FileDescriptor& socket, const std::string& bytes) {
  [[maybe_unused]] const ssize_t count = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

std::string frame(const std::string& text) {
  const auto length = static_cast<uint32_t>(text.size());
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text;
}

std::string random_bytes(std::mt19937& random, size_t most) {
  std::string bytes(random() % (most + 1), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

TEST(Handshake, BothEndsShowTheSecret) {
  SocketPair pair;
  auto accepted = std::async(std::launch::async, [&] {
    Connection connection(std::move(pair.ours), {kSecret});
    const Deadline deadline(patience());
    while (!connection.authenticated() && connection.error().empty() && !deadline.expired()) connection.receive();
    return connection.error();
  });
  std::string error;
  EXPECT_TRUE(comm::authenticate(pair.theirs, {kSecret}, Deadline(patience()), error)) << error;
  EXPECT_EQ(accepted.get(), "");
}

TEST(Handshake, AnAnswerCannotBeUsedAgain) {
  const comm::Responder first({kSecret}), second({kSecret});
  EXPECT_NE(first.challenge().nonce, second.challenge().nonce);
  // An answer to the first, made by a member, that somebody has listened to.
  SocketPair pair;
  auto member = std::async(std::launch::async, [&] {
    std::string error;
    return comm::authenticate(pair.theirs, {kSecret}, Deadline(patience()), error).has_value();
  });
  put(pair.ours, std::string(reinterpret_cast<const char*>(&first.challenge()), sizeof first.challenge()));
  comm::Response response;
  std::string error;
  ASSERT_TRUE(comm::read_all(pair.ours, &response, sizeof response, Deadline(patience()), error)) << error;
  comm::Proof proof;
  EXPECT_TRUE(first.verify(response, proof, error)) << error;
  EXPECT_FALSE(second.verify(response, proof, error));
  // Who only repeats what it hears does not prove anything either.
  put(pair.ours, std::string(reinterpret_cast<const char*>(&response.mac), sizeof response.mac));
  EXPECT_FALSE(member.get());
}

TEST(ControlFrames, LongAndMalformedOnesAreRefused) {
  for (const std::string& bytes : {std::string("\xff\xff\xff\xff", 4), frame("[1, 2"), frame("[1]"), frame("\xc3\x28"),
                                   frame(std::string(100000, '[')), frame("")}) {
    SocketPair pair;
    Connection connection(std::make_unique<comm::SocketLink>(std::move(pair.ours)));
    put(pair.theirs, bytes);
    EXPECT_EQ(connection.receive(), std::nullopt);
    EXPECT_NE(connection.error(), "");
  }
}

TEST(ControlFrames, RandomBytesNeverDoMoreThanFail) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    SocketPair pair;
    const bool stranger = random() % 2 == 0;
    Connection connection = stranger ? Connection(std::move(pair.ours), {kSecret, random() % 2 == 0})
                                     : Connection(std::make_unique<comm::SocketLink>(std::move(pair.ours)));
    for (int piece = 0; piece < 3; ++piece) {
      put(pair.theirs, random() % 2 == 0 ? random_bytes(random, 200) : frame(random_bytes(random, 50)));
      while (connection.receive()) EXPECT_FALSE(stranger);
    }
    if (stranger) {
      EXPECT_FALSE(connection.authenticated());
    }
  }
}

TEST(DataFrames, RandomBytesNeverDoMoreThanFail) {
  std::mt19937 random(8);
  for (int round = 0; round < 2000; ++round) {
    SocketPair pair;
    comm::MessageStream stream(std::make_unique<comm::SocketLink>(std::move(pair.ours)));
    std::vector<std::byte> data(random() % 64);
    stream.receive({comm::TagSpace::kUser, 1}, data.data(), data.size());
    for (int piece = 0; piece < 3; ++piece) {
      uint64_t header[2] = {random() % 3, random() % 100};
      if (random() % 4 == 0) header[1] = (uint64_t{random()} << 32U) | random();
      put(pair.theirs, std::string(reinterpret_cast<const char*>(header), sizeof header) + random_bytes(random, 100));
      stream.progress();
    }
  }
}

/// With TLS or without.
class Strangers : public ::testing::TestWithParam<bool> {
 protected:
  Strangers() {
    comm::RendezvousOptions options;
    options.secret = kSecret;
    options.tls = GetParam();
    options.min_size = options.max_size = 2;
    options.log = [this](const std::string& line) {
      const std::lock_guard<std::mutex> lock(mutex_);
      log_ += line + "\n";
    };
    rendezvous_ = std::make_unique<comm::Rendezvous>(options);
  }
  std::unique_ptr<comm::Group> join() const {
    comm::GroupOptions member;
    member.rendezvous = rendezvous_->address();
    member.secret = kSecret;
    member.tls = GetParam();
    return comm::Group::join(member);
  }
  FileDescriptor connect() const {
    std::string error;
    FileDescriptor socket = comm::connect_tcp(comm::Address::parse(rendezvous_->address()), deadline_, error);
    TW_REQUIRE(socket.valid(), error);
    return socket;
  }
  /// The last member comes, and the group works.
  void expect_group(std::future<std::unique_ptr<comm::Group>> first) {
    auto second = std::async(std::launch::async, [&] { return join(); });
    const auto a = first.get(), b = second.get();
    EXPECT_EQ(a->size(), 2);
    auto barrier = std::async(std::launch::async, [&] { return a->communicator().barrier().ok(); });
    EXPECT_TRUE(b->communicator().barrier().ok());
    EXPECT_TRUE(barrier.get());
  }
  std::string log() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return log_;
  }

  const Deadline deadline_{patience()};
  std::mutex mutex_;
  std::string log_;
  std::unique_ptr<comm::Rendezvous> rendezvous_;
};

INSTANTIATE_TEST_SUITE_P(Wires, Strangers, ::testing::Bool(),
                         [](const auto& test) { return std::string(test.param ? "tcp_tls" : "tcp"); });

TEST_P(Strangers, MaySendWhateverTheyLike) {
  auto first = std::async(std::launch::async, [&] { return join(); });
  std::mt19937 random(9);
  const char* words[] = {"type", "join", "member", "view", "ready", "epoch", "finish", "id", "failure"};
  for (int round = 0; round < 150; ++round) {
    FileDescriptor socket = connect();
    if (round % 3 == 0) {
      put(socket, random_bytes(random, 300));
      continue;
    }
    std::string error;
    std::unique_ptr<comm::Link> link = comm::open_link(std::move(socket), {kSecret, GetParam()}, deadline_, error);
    ASSERT_NE(link, nullptr) << error;
    for (int piece = 0; piece < 4; ++piece) {
      nlohmann::json message;
      const auto word = [&] { return std::string(words[random() % 9]); };
      for (int i = 0; i < 3; ++i) {
        const nlohmann::json values[] = {word(),  random() % 5,       -1,
                                         nullptr, {{word(), word()}}, nlohmann::json::array()};
        message[word()] = values[random() % 6];
      }
      std::string bytes = random() % 5 == 0 ? frame(random_bytes(random, 40)) : frame(message.dump());
      const iovec whole{bytes.data(), bytes.size()};
      link->write_some({&whole, 1});
    }
  }
  expect_group(std::move(first));
}

TEST_P(Strangers, WhoKnowTheSecretButNotTheProtocolAreRefused) {
  auto first = std::async(std::launch::async, [&] { return join(); });
  std::mt19937 random(10);
  for (int round = 0; round < 60; ++round) {
    const FileDescriptor socket = connect();
    std::string error;
    ASSERT_TRUE(comm::authenticate(socket, {kSecret, GetParam()}, deadline_, error)) << error;
    // Some leave at once: a handshake cut short.
    if (round % 3 > 0) put(socket, random_bytes(random, 600));
  }
  expect_group(std::move(first));
  EXPECT_THAT(log(), HasSubstr("refused 127.0.0.1:"));
}

using SlowStrangers = Strangers;
INSTANTIATE_TEST_SUITE_P(Wires, SlowStrangers, ::testing::Values(true),
                         [](const auto& /*test*/) { return std::string("tcp_tls"); });

TEST_P(SlowStrangers, AreGivenUpInTheMiddleOfAHandshake) {
  auto first = std::async(std::launch::async, [&] { return join(); });
  const FileDescriptor socket = connect();
  std::string error;
  ASSERT_TRUE(comm::authenticate(socket, {kSecret, GetParam()}, deadline_, error)) << error;
  put(socket, "\x16\x03");
  std::byte byte{};
  EXPECT_FALSE(comm::read_all(socket, &byte, 1, deadline_, error));
  EXPECT_EQ(error, "connection closed");
  EXPECT_THAT(log(), HasSubstr("nothing heard for"));
  expect_group(std::move(first));
}

/// Shows that it knows the secret, and says nothing more until the other end gives up. False if that one did so
/// earlier.
bool stop_after_the_secret(const FileDescriptor& listener) {
  const Deadline deadline(patience());
  EXPECT_TRUE(comm::wait_ready(listener.get(), false, deadline));
  const FileDescriptor socket = comm::accept_one(listener);
  const comm::Responder responder({kSecret, true});
  std::string error;
  comm::Response response;
  comm::Proof proof;
  const bool shown = comm::write_all(socket, &responder.challenge(), sizeof(comm::Challenge), deadline, error) &&
                     comm::read_all(socket, &response, sizeof response, deadline, error) &&
                     responder.verify(response, proof, error) &&
                     comm::write_all(socket, &proof, sizeof proof, deadline, error);
  if (!shown) return false;
  std::byte bytes[1000];
  while (comm::wait_ready(socket.get(), false, deadline)) {
    if (::read(socket.get(), bytes, sizeof bytes) <= 0) return true;
  }
  ADD_FAILURE() << "the other end waits for ever";
  return true;
}

TEST(Handshake, ARendezvousThatStopsInTheMiddleIsAnErrorAtTheDeadline) {
  // The first part has to be done within the time after which the second is an error.
  EXPECT_TRUE(in_some_attempt([] {
    const FileDescriptor listener = comm::listen_tcp({"127.0.0.1", 0});
    auto accepted = std::async(std::launch::async, [&] { return stop_after_the_secret(listener); });
    comm::GroupOptions member;
    member.rendezvous = "127.0.0.1:" + std::to_string(comm::port_of(listener));
    member.secret = kSecret;
    member.tls = true;
    member.form_timeout = std::chrono::milliseconds(300);
    const std::string text = error_text([&] { comm::Group::join(member); });
    EXPECT_THAT(text, HasSubstr("cannot join the group at " + member.rendezvous + ": "));
    return accepted.get() && text.find(": TLS: no answer, after ") != std::string::npos;
  }));
}

}  // namespace
}  // namespace thalweg::testing

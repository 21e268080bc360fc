// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Strangers, and members gone mad, at every socket that a group listens on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <future>
#include <random>

#include "comm/connection.h"
#include "comm/handshake.h"
#include "comm/message_stream.h"
#include "comm/socket.h"
#include "comm/socket_link.h"
#include "thalweg/comm.h"

namespace thalweg::testing {
namespace {

using comm::Connection;

using comm::FileDescriptor;
using ::testing::HasSubstr;

constexpr const char* kSecret = "secret";

struct SocketPair {
  SocketPair() {
    int pair[2];
    TW_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0, "no socketpair");
    ours = FileDescriptor(pair[0]);
    theirs = FileDescriptor(pair[1]);
  }
  FileDescriptor ours, theirs;
};

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
    Connection connection(std::move(pair.ours), kSecret);
    const Deadline deadline(std::chrono::seconds(60));
    while (!connection.authenticated() && connection.error().empty() && !deadline.expired()) connection.receive();
    return connection.error();
  });
  std::string error;
  EXPECT_TRUE(comm::authenticate(pair.theirs, kSecret, Deadline(std::chrono::seconds(60)), error)) << error;
  EXPECT_EQ(accepted.get(), "");
}

TEST(Handshake, AnAnswerCannotBeUsedAgain) {
  const comm::Responder first(kSecret), second(kSecret);
  EXPECT_NE(first.challenge().nonce, second.challenge().nonce);
  // An answer to the first, made by a member, that somebody has listened to.
  SocketPair pair;
  auto member = std::async(std::launch::async, [&] {
    std::string error;
    return comm::authenticate(pair.theirs, kSecret, Deadline(std::chrono::seconds(1)), error);
  });
  put(pair.ours, std::string(reinterpret_cast<const char*>(&first.challenge()), sizeof first.challenge()));
  comm::Response response;
  std::string error;
  ASSERT_TRUE(comm::read_all(pair.ours, &response, sizeof response, Deadline(std::chrono::seconds(60)), error))
      << error;
  comm::Proof proof;
  EXPECT_TRUE(first.verify(response, proof));
  EXPECT_FALSE(second.verify(response, proof));
  // Who only repeats what it hears does not prove anything either.
  put(pair.ours, std::string(reinterpret_cast<const char*>(&response.mac), sizeof response.mac));
  EXPECT_FALSE(member.get());
}

TEST(ControlFrames, LongAndMalformedOnesAreRefused) {
  for (const std::string& bytes : {std::string("\xff\xff\xff\xff", 4), frame("[1, 2"), frame("[1]"), frame("\xc3\x28"),
                                   frame(std::string(100000, '[')), frame("")}) {
    SocketPair pair;
    Connection connection(std::move(pair.ours));
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
    Connection connection = stranger ? Connection(std::move(pair.ours), kSecret) : Connection(std::move(pair.ours));
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

TEST(Rendezvous, GoesOnWhateverStrangersAndMembersSend) {
  comm::RendezvousOptions options;
  options.secret = kSecret;
  options.min_size = options.max_size = 2;
  options.log = [](const std::string&) {};
  comm::Rendezvous rendezvous(options);
  const auto join = [&] {
    comm::GroupOptions member;
    member.rendezvous = rendezvous.address();
    member.secret = kSecret;
    return comm::Group::join(member);
  };
  auto first = std::async(std::launch::async, join);
  std::mt19937 random(9);
  const char* words[] = {"type", "join", "member", "view", "ready", "epoch", "finish", "id", "failure"};
  const Deadline deadline(std::chrono::seconds(60));
  for (int round = 0; round < 150; ++round) {
    std::string error;
    FileDescriptor socket = comm::connect_tcp(comm::Address::parse(rendezvous.address()), deadline, error);
    ASSERT_TRUE(socket.valid()) << error;
    if (round % 3 == 0) {
      put(socket, random_bytes(random, 300));
      continue;
    }
    ASSERT_TRUE(comm::authenticate(socket, kSecret, deadline, error)) << error;
    for (int piece = 0; piece < 4; ++piece) {
      nlohmann::json message;
      const auto word = [&] { return std::string(words[random() % 9]); };
      for (int i = 0; i < 3; ++i) {
        const nlohmann::json values[] = {word(),  random() % 5,       -1,
                                         nullptr, {{word(), word()}}, nlohmann::json::array()};
        message[word()] = values[random() % 6];
      }
      put(socket, random() % 5 == 0 ? frame(random_bytes(random, 40)) : frame(message.dump()));
    }
  }
  auto second = std::async(std::launch::async, join);
  const auto a = first.get(), b = second.get();
  EXPECT_EQ(a->size(), 2);
  auto barrier = std::async(std::launch::async, [&] { return a->communicator().barrier().ok(); });
  EXPECT_TRUE(b->communicator().barrier().ok());
  EXPECT_TRUE(barrier.get());
}

}  // namespace
}  // namespace thalweg::testing

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Frames of a peer that has gone mad, and the limits of what is kept of one that has not.
#include "comm/frame_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "comm/socket_link.h"
#include "comm/socket_pair.h"

namespace thalweg::testing {
namespace {

using comm::Delivery;
using comm::FrameStream;
using comm::Route;
using ::testing::HasSubstr;

/// As on the wire.
struct Header {
  uint64_t context = 0;
  uint32_t use = 0;
  uint32_t channel = 1;
  uint32_t tag = 0;
  uint32_t kind = 0;
  uint64_t bytes = 0;
};

class Frames : public ::testing::Test {
 protected:
  void peer_sends(const Header& header, size_t body = 0) {
    std::vector<std::byte> bytes(sizeof header + body);
    std::memcpy(bytes.data(), &header, sizeof header);
    ASSERT_EQ(::send(sockets_.theirs.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    while (stream_.read()) {
    }
  }
  std::shared_ptr<Delivery> message(Delivery::Kind kind, size_t bytes = 0) {
    auto result = std::make_shared<Delivery>();
    result->kind = kind;
    result->route.channel = 1;
    result->peer = 1;
    result->bytes.resize(result->size = bytes);
    return result;
  }

  SocketPair sockets_;
  comm::Mailbox mailbox_;
  FrameStream stream_{std::make_unique<comm::SocketLink>(std::move(sockets_.ours)), 1, mailbox_};
};

TEST_F(Frames, WhatNoMessageCanHaveIsRefused) {
  peer_sends({.bytes = comm::Channel::kMostBytes + 1});
  EXPECT_THAT(stream_.error(), HasSubstr("it sent a message of 4294967297 bytes, more than any may have"));
  EXPECT_TRUE(stream_.protocol_error());
  EXPECT_EQ(mailbox_.kept_of(1), 0U);
}

TEST_F(Frames, AnUnknownKindIsRefused) {
  peer_sends({.kind = 2});
  EXPECT_THAT(stream_.error(), HasSubstr("a frame of an unknown kind"));
}

TEST_F(Frames, AnUnknownUseIsRefused) {
  peer_sends({.use = 3});
  EXPECT_THAT(stream_.error(), HasSubstr("a frame of an unknown use"));
}

TEST_F(Frames, AGrantOfMoreThanWasSentIsRefused) {
  stream_.send(message(Delivery::Kind::kSend, 1000));
  EXPECT_TRUE(stream_.write());
  peer_sends({.kind = 1, .bytes = 1000});
  EXPECT_EQ(stream_.error(), "");
  peer_sends({.kind = 1, .bytes = 1000});
  EXPECT_THAT(stream_.error(), HasSubstr("a grant for more than it got"));
}

TEST_F(Frames, WhoDoesNotWaitForItsTurnIsRefused) {
  // Empty messages count too.
  for (uint64_t cost = 0; cost < FrameStream::kWindow && stream_.error().empty(); cost += 256) peer_sends({});
  EXPECT_EQ(stream_.error(), "");
  peer_sends({});
  EXPECT_THAT(stream_.error(), HasSubstr("more than 16.0 MiB of a channel at once"));
}

TEST_F(Frames, ALengthAloneTakesLittleMemory) {
  const auto receive = message(Delivery::Kind::kReceive);
  mailbox_.ask(receive);
  peer_sends({.bytes = comm::Channel::kMostBytes}, 100);
  EXPECT_EQ(stream_.error(), "");
  EXPECT_FALSE(receive->done);
  mailbox_.withdraw(*receive);
  EXPECT_FALSE(stream_.reads()) << "more than is kept of a peer";
}

TEST_F(Frames, ASenderGoesOnWhenItsMessagesWereAskedFor) {
  std::vector<std::shared_ptr<Delivery>> sent;
  for (int i = 0; i < 3; ++i) {
    sent.push_back(message(Delivery::Kind::kSend, FrameStream::kWindow));
    stream_.send(sent.back());
  }
  std::vector<std::byte> sink(1 << 20U);
  const auto drain = [&] {
    for (bool moved = true; moved;) {
      moved = stream_.write();
      while (::recv(sockets_.theirs.get(), sink.data(), sink.size(), MSG_DONTWAIT) > 0) moved = true;
    }
  };
  drain();
  EXPECT_TRUE(sent[0]->done);
  EXPECT_FALSE(sent[1]->done) << "the window is full";
  EXPECT_FALSE(stream_.blocked()) << "it is not the link that it waits for";
  peer_sends({.kind = 1, .bytes = FrameStream::kWindow + 256});
  drain();
  EXPECT_TRUE(sent[1]->done);
  EXPECT_FALSE(sent[2]->done);
  EXPECT_TRUE(stream_.withdraw(*sent[2]));
}

TEST_F(Frames, WhatComesForACommunicatorThatIsGoneIsForgotten) {
  peer_sends({.context = 7, .bytes = 300000}, 100);
  mailbox_.close(7);
  EXPECT_EQ(mailbox_.kept_of(1), 0U);
  std::vector<std::byte> rest(299900);
  for (size_t begin = 0; begin < rest.size(); begin += 50000) {
    const size_t bytes = std::min<size_t>(50000, rest.size() - begin);
    ASSERT_EQ(::send(sockets_.theirs.get(), rest.data(), bytes, 0), static_cast<ssize_t>(bytes));
    while (stream_.read()) {
    }
  }
  peer_sends({.context = 7, .bytes = 10}, 10);
  const auto receive = message(Delivery::Kind::kReceive);
  mailbox_.ask(receive);
  peer_sends({.bytes = 5}, 5);
  EXPECT_TRUE(receive->done) << "what follows is in its place";
  EXPECT_EQ(receive->size, 5U);
  EXPECT_EQ(mailbox_.kept_of(1), 0U);
}

}  // namespace
}  // namespace thalweg::testing

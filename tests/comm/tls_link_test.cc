// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "comm/socket.h"
#include "comm/socket_pair.h"
#include "support/patience.h"

namespace thalweg::testing {
namespace {

using comm::FileDescriptor;
using comm::IoResult;
using ::testing::HasSubstr;
using ::testing::Not;

std::string error_of(comm::TlsLink& link) {
  std::byte byte{};
  return link.read_some(&byte, 1).error;
}

std::string patterned(size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += "weights of the model " + std::to_string(text.size()) + " ";
  text.resize(bytes);
  return text;
}

/// Sends text in pieces of random sizes, as message streams do, until the other end has all of it.
std::string pass_through(comm::TlsLink& from, comm::TlsLink& to, const std::string& text) {
  std::mt19937 random(3);
  std::string arrived(text.size(), '\0');
  size_t sent = 0, got = 0;
  size_t first = 16;
  while (got < text.size()) {
    const size_t rest = text.size() - sent;
    const size_t head = std::min(first, rest);
    auto* begin = const_cast<char*>(text.data()) + sent;
    const iovec pieces[] = {{begin, head}, {begin + head, rest - head}};
    const IoResult written = rest > 0 ? from.write_some(pieces) : IoResult{};
    const IoResult read = to.read_some(arrived.data() + got, std::min(text.size() - got, random() % 40000 + 1));
    TW_REQUIRE(written.error.empty() && read.error.empty(), written.error, read.error);
    sent += written.bytes;
    got += read.bytes;
    if (written.bytes > 0) first = random() % 30000;
  }
  return arrived;
}

TEST(TlsLink, BytesArriveAsTheyWereSent) {
  const TlsPair pair;
  ASSERT_TRUE(pair.shake_hands());
  for (const size_t bytes : {1, 15, 16, 17, 16383, 16384, 16385, 70000, 3000000}) {
    const std::string text = patterned(bytes);
    EXPECT_EQ(pass_through(*pair.connecting, *pair.accepting, text), text) << bytes;
    EXPECT_EQ(pass_through(*pair.accepting, *pair.connecting, text), text) << bytes;
  }
}

TEST(TlsLink, KeysChangeOnTheWay) {
  const TlsPair pair(SocketPair(), test_key(), 50000);
  ASSERT_TRUE(pair.shake_hands());
  const std::string text = patterned(2000000);
  EXPECT_EQ(pass_through(*pair.connecting, *pair.accepting, text), text);
  EXPECT_EQ(pass_through(*pair.accepting, *pair.connecting, text), text);
}

TEST(TlsLink, WithoutTheKeyThereIsNoHandshake) {
  const TlsPair pair(SocketPair(), test_key(2));
  EXPECT_FALSE(pair.shake_hands());
  EXPECT_THAT(error_of(*pair.accepting), HasSubstr("TLS: binder does not verify"));
  EXPECT_THAT(error_of(*pair.connecting), HasSubstr("TLS: "));
}

/// What one end puts on the wire, taken from the other end's socket.
std::string on_the_wire(const FileDescriptor& socket) {
  std::string bytes(1000000, '\0');
  const ssize_t count = ::recv(socket.get(), bytes.data(), bytes.size(), 0);
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  return bytes;
}

/// A relay between two ends, which sees all that they send.
struct Tapped {
  Tapped()
      : pair([&] {
          SocketPair ends;
          std::swap(ends.ours, first.ours);
          std::swap(ends.theirs, second.ours);
          return ends;
        }()) {}
  /// Hands on what has come, after `change` has looked at it.
  template <typename Change>
  void relay(const Change& change) const {
    for (const auto& [from, to] :
         {std::pair(&first.theirs, &second.theirs), std::pair(&second.theirs, &first.theirs)}) {
      std::string bytes = on_the_wire(*from);
      change(bytes);
      if (bytes.empty()) continue;
      ASSERT_EQ(::send(to->get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    }
  }
  void shake_hands() const {
    for (int step = 0; step < 10; ++step) {
      pair.connecting->handshake();
      pair.accepting->handshake();
      relay([](const std::string& /*bytes*/) {});
    }
    ASSERT_TRUE(pair.connecting->handshake() && pair.accepting->handshake());
  }

  SocketPair first, second;
  TlsPair pair;
};

TEST(TlsLink, NothingIsReadableOnTheWire) {
  const Tapped tapped;
  tapped.shake_hands();
  const std::string text = patterned(50000);
  const iovec piece{const_cast<char*>(text.data()), text.size()};
  ASSERT_EQ(tapped.pair.connecting->write_some({&piece, 1}).bytes, text.size());
  size_t seen = 0;
  tapped.relay([&](const std::string& bytes) {
    seen += bytes.size();
    EXPECT_THAT(bytes, Not(HasSubstr("weights")));
  });
  EXPECT_GT(seen, text.size());
  std::string arrived(16384, '\0');
  EXPECT_EQ(tapped.pair.accepting->read_some(arrived.data(), arrived.size()).bytes, arrived.size());
  EXPECT_EQ(arrived, text.substr(0, arrived.size()));
}

TEST(TlsLink, AChangedBitIsNoticed) {
  const Tapped tapped;
  tapped.shake_hands();
  const std::string text = patterned(1000);
  const iovec piece{const_cast<char*>(text.data()), text.size()};
  ASSERT_EQ(tapped.pair.connecting->write_some({&piece, 1}).bytes, text.size());
  tapped.relay([](std::string& bytes) {
    if (!bytes.empty()) bytes[500] = static_cast<char>(bytes[500] ^ 1);
  });
  EXPECT_THAT(error_of(*tapped.pair.accepting), HasSubstr("TLS: "));
}

TEST(TlsLink, GarbageIsAnErrorAtEveryStage) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    SocketPair sockets;
    const bool connects = round % 2 == 0;
    comm::TlsLink link(std::make_unique<comm::SocketLink>(std::move(sockets.ours)), test_key(),
                       connects ? comm::TlsRole::kConnects : comm::TlsRole::kAccepts);
    link.handshake();
    std::string garbage(1 + random() % 500, '\0');
    for (char& byte : garbage) byte = static_cast<char>(random());
    if (round % 4 < 2) garbage.replace(0, 3, "\x16\x03\x03");  // looks like a record of a handshake
    ASSERT_GT(::send(sockets.theirs.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL), 0);
    link.handshake();
    sockets.theirs = FileDescriptor();
    EXPECT_FALSE(link.handshake());
    EXPECT_NE(error_of(link), "");
  }
}

TEST(TlsLink, AHandshakeCutShortIsAClosedConnection) {
  for (const bool after_first_message : {false, true}) {
    TlsPair pair;
    EXPECT_FALSE(pair.connecting->handshake());
    if (after_first_message) pair.accepting->handshake();
    pair.accepting.reset();
    std::string error;
    const Deadline deadline(patience());
    const bool done = pair.connecting->handshake(deadline, error);
    // The connecting end may have all it needs; it learns of the end as soon as it reads.
    if (done) error = error_of(*pair.connecting);
    EXPECT_THAT(error, ::testing::AnyOf(HasSubstr("connection closed"), HasSubstr("reset"), HasSubstr("Broken pipe")));
    EXPECT_FALSE(deadline.expired());
  }
}

TEST(TlsLink, ASilentPeerEndsAtTheDeadline) {
  const TlsPair pair;
  std::string error;
  const Deadline deadline(std::chrono::milliseconds(200));  // patience: nothing comes before it
  EXPECT_FALSE(pair.connecting->handshake(deadline, error));
  EXPECT_THAT(error, HasSubstr("no answer"));
  EXPECT_GE(deadline.elapsed(), 0.19);
}

TEST(TlsLink, AConnectionResetInTheMiddleIsAnError) {
  const FileDescriptor listener = comm::listen_tcp({"127.0.0.1", 0});
  std::string error;
  const Deadline deadline(patience());
  SocketPair sockets;
  sockets.ours = comm::connect_tcp({"127.0.0.1", comm::port_of(listener)}, deadline, error);
  ASSERT_TRUE(sockets.ours.valid()) << error;
  ASSERT_TRUE(comm::wait_ready(listener.get(), false, deadline));
  sockets.theirs = comm::accept_one(listener);
  const linger at_once{1, 0};
  ASSERT_EQ(::setsockopt(sockets.theirs.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
  TlsPair pair(std::move(sockets));
  ASSERT_TRUE(eventually([&] { return pair.shake_hands(); }));
  const std::string text = patterned(100000);
  const iovec piece{const_cast<char*>(text.data()), text.size()};
  std::vector<char> some(1000);
  EXPECT_EQ(pair.connecting->write_some({&piece, 1}).error, "");
  ASSERT_TRUE(eventually([&] { return pair.accepting->read_some(some.data(), some.size()).bytes > 0; }));
  pair.accepting.reset();
  IoResult result;
  while (result.error.empty() && !deadline.expired()) result = pair.connecting->write_some({&piece, 1});
  EXPECT_THAT(result.error, ::testing::AnyOf(HasSubstr("reset"), HasSubstr("Broken pipe")));
}

}  // namespace
}  // namespace thalweg::testing

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/connection.h"
#include "comm/control_messages.h"
#include "comm/frame_stream.h"
#include "comm/handshake.h"
#include "comm/message_stream.h"
#include "comm/socket_link.h"

/// What bytes from the network may reach. Anything but a result, a link given up or an Error is a finding.
namespace thalweg::fuzz {

/// A link whose peer has sent these bytes and nothing more. The first byte says in which pieces they come.
class BytesLink : public comm::Link {
 public:
  explicit BytesLink(std::string_view bytes) : rest_(bytes) {
    if (!rest_.empty()) piece_ = 1 + static_cast<unsigned char>(rest_[0]) % 64;
    rest_.remove_prefix(std::min<size_t>(1, rest_.size()));
  }
  comm::IoResult write_some(std::span<const iovec> /*pieces*/) override { return {}; }
  comm::IoResult read_some(void* data, size_t bytes) override {
    const size_t count = std::min({bytes, rest_.size(), piece_});
    std::memcpy(data, rest_.data(), count);
    rest_.remove_prefix(count);
    return {count, ""};
  }
  int descriptor() const override { return -1; }

 private:
  std::string_view rest_;
  size_t piece_ = 1;
};

/// Messages of a peer that has shown the secret, with two awaited and the others kept.
inline void read_messages(std::string_view bytes) {
  comm::MessageStream stream(std::make_unique<BytesLink>(bytes));
  std::byte first[16], second[40];
  stream.receive({comm::TagSpace::kCollective, 1}, first, sizeof first);
  stream.receive({comm::TagSpace::kUser, 2}, second, sizeof second);
  while (stream.progress()) {
  }
  if (stream.error().empty()) stream.receive({comm::TagSpace::kUser, 3}, first, sizeof first);
}

/// A link that takes whatever is written, besides.
class TakingLink : public BytesLink {
 public:
  using BytesLink::BytesLink;
  comm::IoResult write_some(std::span<const iovec> pieces) override {
    size_t bytes = 0;
    for (const iovec& piece : pieces) bytes += piece.iov_len;
    return {bytes, ""};
  }
};

inline std::shared_ptr<comm::Delivery> make_delivery(comm::Delivery::Kind kind, comm::Route route, uint32_t tag) {
  auto delivery = std::make_shared<comm::Delivery>();
  delivery->kind = kind;
  delivery->route = route;
  delivery->tag = tag;
  delivery->peer = kind == comm::Delivery::Kind::kSend ? 1 : comm::kAnybody;
  return delivery;
}

/// Frames of a peer that has shown the secret: some awaited, some into memory of the caller, some cancelled while they
/// come, and grants for what was sent to it.
inline void read_frames(std::string_view bytes) {
  using Kind = comm::Delivery::Kind;
  const comm::Route channel{0, comm::Route::Use::kChannel, 1}, collective{5, comm::Route::Use::kCollective, 0};
  comm::Mailbox mailbox;
  comm::FrameStream stream(std::make_unique<TakingLink>(bytes), 1, mailbox);
  // More than the window of a channel, and not written anew for every input.
  static std::vector<std::byte> content(6'000'000);
  for (int i = 0; i < 3; ++i) {
    const auto message = make_delivery(Kind::kSend, channel, 0);
    message->memory = content.data();
    message->size = content.size();
    stream.send(message);
  }
  std::byte memory[16];
  const auto exact = make_delivery(Kind::kReceive, collective, 1);
  exact->memory = memory;
  exact->size = sizeof memory;
  mailbox.ask(exact);
  std::shared_ptr<comm::Delivery> wanted;
  for (bool moved = true; moved;) {
    if (wanted == nullptr || wanted->done) mailbox.ask(wanted = make_delivery(Kind::kReceive, channel, 0));
    moved = stream.read();
    stream.write();
    if (moved && !wanted->done) {
      mailbox.withdraw(*wanted);
      wanted = nullptr;
    }
    for (const comm::Mailbox::Grant& grant : mailbox.take_grants()) stream.grant(grant.route, grant.cost);
  }
  mailbox.withdraw(*exact);
  stream.close();
}

/// As a member or the rendezvous does with a message. Whatever is no Error is a finding.
inline void read_as_anything(const nlohmann::json& message) {
  const auto attempt = [&](auto read) {
    try {
      read(message);
    } catch (const Error&) {
    }
  };
  attempt(comm::Introduction::from_json);
  attempt(comm::MemberMessage::from_json);
  attempt(comm::RendezvousMessage::from_json);
}

/// Control messages: of a stranger if the first byte is even, otherwise of one who has shown the secret.
inline void read_control(std::string_view bytes) {
  if (bytes.empty()) return;
  int pair[2];
  TW_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0, "no socketpair");
  comm::FileDescriptor ours(pair[0]);
  const comm::FileDescriptor peer(pair[1]);
  const bool stranger = bytes[0] % 2 == 0;
  comm::Connection connection = stranger ? comm::Connection(std::move(ours), {"secret", bytes[0] % 4 == 0})
                                         : comm::Connection(std::make_unique<comm::SocketLink>(std::move(ours)));
  // As much as a socket's buffer holds without anybody reading.
  constexpr size_t kMost = 16384;
  bytes.remove_prefix(1);
  [[maybe_unused]] const ssize_t written = ::write(peer.get(), bytes.data(), std::min(bytes.size(), kMost));
  while (const auto message = connection.receive()) read_as_anything(*message);
}

/// What somebody says first who listens where a member expects its group.
inline void meet_listener(std::string_view bytes) {
  int pair[2];
  TW_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0, "no socketpair");
  const comm::FileDescriptor ours(pair[0]);
  {
    const comm::FileDescriptor peer(pair[1]);
    [[maybe_unused]] const ssize_t written = ::write(peer.get(), bytes.data(), std::min<size_t>(bytes.size(), 4096));
  }
  std::string error;
  // patience: the other end is closed
  TW_REQUIRE(!comm::authenticate(ours, {"secret"}, Deadline(std::chrono::seconds(1)), error), "a stranger was trusted");
}

/// A rendezvous and its members, some of them mad: bytes say who does what. What it tells them must make sense.
class Meeting {
 public:
  explicit Meeting(bool wants_result) : membership_(options(wants_result), now_) {}

  void run(std::string_view script) {
    while (!script.empty()) {
      const auto what = static_cast<unsigned char>(script[0]);
      script.remove_prefix(1);
      std::string& client = clients_[what % 4];
      if (what % 16 >= 12) {
        membership_.lose(std::exchange(client, ""), "it ended", now_);
      } else {
        const std::string_view line = script.substr(0, script.find('\n'));
        script.remove_prefix(std::min(script.size(), line.size() + 1));
        const nlohmann::json message = nlohmann::json::parse(line, nullptr, false);
        if (message.is_object()) say(client, message);
      }
      now_ += std::chrono::milliseconds(10 * (what / 16));
      membership_.tick(now_);
      for (const comm::Notice& notice : membership_.take_notices()) comm::RendezvousMessage::from_json(notice.message);
    }
  }

 private:
  static comm::RendezvousOptions options(bool wants_result) {
    comm::RendezvousOptions options;
    options.wants_result = wants_result;
    options.max_size = 3;
    // patience: the clock is the test's own
    options.settle = options.silence = options.return_timeout = std::chrono::milliseconds(50);
    options.regroup_timeout = options.form_timeout = std::chrono::milliseconds(300);
    return options;
  }

  void say(std::string& client, const nlohmann::json& message) {
    try {
      if (client.empty()) {
        const comm::Introduction introduction = comm::Introduction::from_json(message);
        std::replace(clients_.begin(), clients_.end(), introduction.member.id, std::string());
        client = introduction.member.id;
        membership_.join(introduction.member, introduction.known, now_, introduction.preparing);
        return;
      }
      const comm::MemberMessage said = comm::MemberMessage::from_json(message);
      using Kind = comm::MemberMessage::Kind;
      if (said.kind == Kind::kReady) membership_.ready(client, said.epoch, said.text, now_);
      if (said.kind == Kind::kFail) membership_.fail(client, said.text);
      if (said.kind == Kind::kFinish) membership_.finish(client, now_);
      if (said.kind == Kind::kHandedOver) membership_.handed_over(client, now_);
    } catch (const Error&) {
      membership_.lose(std::exchange(client, ""), "it sent nonsense", now_);
    }
  }

  comm::Membership::Time now_{std::chrono::hours(1)};
  comm::Membership membership_;
  /// Ids of those who are connected.
  std::array<std::string, 4> clients_;
};

inline void hold_meeting(std::string_view bytes) {
  Meeting(false).run(bytes);
  Meeting(true).run(bytes);
}

}  // namespace thalweg::fuzz

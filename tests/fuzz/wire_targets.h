// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "comm/connection.h"
#include "comm/membership.h"
#include "comm/message_stream.h"

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

inline void feed(comm::Connection& connection, const comm::FileDescriptor& peer, std::string_view bytes) {
  // As much as a socket's buffer holds without anybody reading.
  constexpr size_t kMost = 16384;
  [[maybe_unused]] const ssize_t written = ::write(peer.get(), bytes.data(), std::min(bytes.size(), kMost));
  while (const auto message = connection.receive()) {
    try {
      comm::View::from_json(message->value("view", nlohmann::json()));
      comm::MemberInfo::from_json(message->value("member", nlohmann::json()));
    } catch (const Error&) {
    } catch (const nlohmann::json::exception&) {
      // A message that is no object: those who read it catch this too.
    }
  }
}

/// Control messages: of a stranger if the first byte is even, otherwise of one who has shown the secret.
inline void read_control(std::string_view bytes) {
  if (bytes.empty()) return;
  int pair[2];
  TW_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0, "no socketpair");
  comm::FileDescriptor ours(pair[0]);
  const comm::FileDescriptor peer(pair[1]);
  const bool stranger = bytes[0] % 2 == 0;
  comm::Connection connection =
      stranger ? comm::Connection(std::move(ours), "secret") : comm::Connection(std::move(ours));
  feed(connection, peer, bytes.substr(1));
}

}  // namespace thalweg::fuzz

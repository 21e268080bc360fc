// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "comm/handshake.h"

namespace thalweg::comm {

/// No control message is longer: the view of a thousand members fits, and a stranger cannot make us allocate more.
inline constexpr size_t kMostFrameBytes = size_t{1} << 20U;

/// One end of a connection that carries control messages: JSON objects, each behind its length in four bytes. Nothing
/// waits here but `send_and_flush`. It never reads beyond the message it returns, so that the link can go on to other
/// uses.
class Connection {
 public:
  /// The accepting end: nothing is taken from the peer before it has shown the secret.
  Connection(FileDescriptor socket, const Security& security);
  /// Over a link whose peer has shown the secret.
  explicit Connection(std::unique_ptr<Link> link) : link_(std::move(link)) {}

  int descriptor() const { return link_->descriptor(); }
  std::unique_ptr<Link> take_link() { return std::move(link_); }
  bool authenticated() const { return !responder_.has_value(); }
  /// Why it is of no more use; empty while it is.
  const std::string& error() const { return error_; }

  /// The next message if all of it has come. Call again until there is none.
  std::optional<nlohmann::json> receive();
  void send(const nlohmann::json& message);
  /// Writes what is queued as far as the socket takes it; true if nothing is left.
  bool flush();
  bool wants_to_write() const { return !outgoing_.empty(); }
  /// Gives it up, for a reason that `error` then tells.
  void close_with(const std::string& why) { fail(why); }
  bool send_and_flush(const nlohmann::json& message, const Deadline& deadline);

 private:
  /// Reads up to `bytes` in all into the buffer; true once they are there.
  bool fill(size_t bytes);
  bool answer_challenge();
  /// True once the peer has got all that is sent in clear.
  bool begin_tls();
  void fail(const std::string& why);

  std::unique_ptr<Link> link_;
  std::optional<Responder> responder_;
  /// Set while TLS is about to begin.
  std::optional<SessionKey> tls_key_;
  std::string incoming_;
  std::string outgoing_;
  std::string error_;
};

}  // namespace thalweg::comm

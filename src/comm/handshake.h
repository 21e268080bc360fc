// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/deadline.h"
#include "comm/file_descriptor.h"
#include "comm/tls_link.h"

namespace thalweg::comm {

// Both ends of a new connection show that they know the job's secret, without sending it: each answers the other's
// random challenge with a keyed hash (HMAC-SHA256) of it. Messages have fixed sizes, so that nothing of a stranger's is
// parsed. If the group uses TLS, it begins after that, with a key that follows from the secret and both challenges.

/// What a group's connections are protected by.
struct Security {
  std::string secret;
  bool tls = false;
};

/// Of the protocol, and whether TLS follows.
using Magic = std::array<char, 8>;
using Nonce = std::array<std::byte, 32>;
using Mac = std::array<std::byte, 32>;

/// What the accepting end says first.
struct Challenge {
  Magic magic;
  Nonce nonce;
};
/// What the connecting end answers.
struct Response {
  Magic magic;
  Nonce nonce;
  Mac mac;
};
/// By which the accepting end shows that it knows the secret too.
struct Proof {
  Mac mac;
};

/// Random bytes nobody can guess.
void fill_random(std::span<std::byte> bytes);
/// As text of twice as many hexadecimal digits.
std::string random_text(size_t bytes);

/// The accepting end.
class Responder {
 public:
  explicit Responder(const Security& security);
  const Challenge& challenge() const { return challenge_; }
  /// True if the answer shows the secret; `proof` is then what to send back. Otherwise `error` says why not.
  bool verify(const Response& response, Proof& proof, std::string& error) const;
  /// With which TLS follows the proof; nothing if the group does not use it.
  std::optional<SessionKey> tls_key(const Response& response) const;

 private:
  Security security_;
  Challenge challenge_;
};

/// The connecting end, over a socket; nothing, with the reason, if the other one did not show the secret in time.
/// `cut_off` is set if that was because the connection ended, which is how one ends that has the wrong secret, but also
/// one for which there was no room.
std::optional<SessionKey> authenticate(const FileDescriptor& socket, const Security& security, const Deadline& deadline,
                                       std::string& error, bool* cut_off = nullptr);
/// Authenticates and, if asked for, begins TLS; null, with the reason, if either fails.
std::unique_ptr<Link> open_link(FileDescriptor socket, const Security& security, const Deadline& deadline,
                                std::string& error, bool* cut_off = nullptr);
/// The same over what `connect` makes, an invalid socket and the reason if it cannot. Tries a few times, for less than
/// a second, if the connection is cut off.
std::unique_ptr<Link> connect_link(const std::function<FileDescriptor(std::string& error)>& connect,
                                   const Security& security, const Deadline& deadline, std::string& error);

}  // namespace thalweg::comm

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "base/deadline.h"
#include "comm/file_descriptor.h"

namespace thalweg::comm {

// Both ends of a new connection show that they know the job's secret, without sending it: each answers the other's
// random challenge with a keyed hash (HMAC-SHA256) of it. Messages have fixed sizes, so that nothing of a stranger's is
// parsed.

using Nonce = std::array<std::byte, 32>;
using Mac = std::array<std::byte, 32>;

/// What the accepting end says first.
struct Challenge {
  std::array<char, 8> magic;
  Nonce nonce;
};
/// What the connecting end answers.
struct Response {
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
  explicit Responder(const std::string& secret);
  const Challenge& challenge() const { return challenge_; }
  /// True if the answer shows the secret; `proof` is then what to send back.
  bool verify(const Response& response, Proof& proof) const;

 private:
  std::string secret_;
  Challenge challenge_;
};

/// The connecting end, over a socket; false, with the reason, if the other one did not show the secret in time.
bool authenticate(const FileDescriptor& socket, const std::string& secret, const Deadline& deadline,
                  std::string& error);

}  // namespace thalweg::comm

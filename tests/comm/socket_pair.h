// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include "comm/socket_link.h"
#include "comm/tls_link.h"
#include "thalweg/error.h"

namespace thalweg::testing {

inline comm::SessionKey test_key(int seed = 1) {
  comm::SessionKey key;
  key.fill(static_cast<std::byte>(seed));
  return key;
}

/// Both ends of a connection.
struct SocketPair {
  explicit SocketPair(int flags = SOCK_NONBLOCK) {
    int pair[2];
    TW_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0, pair) == 0, "no socketpair");
    ours = comm::FileDescriptor(pair[0]);
    theirs = comm::FileDescriptor(pair[1]);
  }
  comm::FileDescriptor ours, theirs;
};

/// Both ends of a connection under TLS.
struct TlsPair {
  explicit TlsPair(SocketPair sockets = SocketPair(), const comm::SessionKey& other_key = test_key(),
                   uint64_t bytes_per_key = comm::TlsLink::kBytesPerKey)
      : connecting(std::make_unique<comm::TlsLink>(std::make_unique<comm::SocketLink>(std::move(sockets.ours)),
                                                   test_key(), comm::TlsRole::kConnects, bytes_per_key)),
        accepting(std::make_unique<comm::TlsLink>(std::make_unique<comm::SocketLink>(std::move(sockets.theirs)),
                                                  other_key, comm::TlsRole::kAccepts, bytes_per_key)) {}

  /// False if it fails.
  bool shake_hands() const {
    constexpr int kMostSteps = 10;
    for (int step = 0; step < kMostSteps; ++step) {
      const bool one = connecting->handshake();
      if (accepting->handshake() && one) return true;
    }
    return false;
  }

  std::unique_ptr<comm::TlsLink> connecting, accepting;
};

}  // namespace thalweg::testing

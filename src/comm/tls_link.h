// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/deadline.h"
#include "comm/link.h"

struct ssl_st;

namespace thalweg::comm {

/// What both ends of a connection know and nobody else does.
using SessionKey = std::array<std::byte, 32>;

enum class TlsRole { kConnects, kAccepts };

/// TLS 1.3 over another link. The ends know each other by the key they share (PSK with an ephemeral Diffie-Hellman
/// exchange), so there are no certificates; who has listened cannot read it even if the key becomes known later. The
/// end of the stream is not authenticated: messages must tell their lengths.
class TlsLink : public Link {
 public:
  /// After so many bytes the sender changes its key, well before AES-GCM asks for that (2^24.5 records of 16 KiB).
  static constexpr uint64_t kBytesPerKey = uint64_t{1} << 36U;

  TlsLink(std::unique_ptr<Link> below, const SessionKey& key, TlsRole role, uint64_t bytes_per_key = kBytesPerKey);
  ~TlsLink() override;
  TlsLink(const TlsLink&) = delete;
  TlsLink& operator=(const TlsLink&) = delete;

  /// A step of the handshake; true once it is done. Reading and writing make such steps too, but whoever only writes
  /// would not know to wait for the peer's answer.
  bool handshake();
  /// All steps; false, with the reason, if they are not done before the deadline.
  bool handshake(const Deadline& deadline, std::string& error);

  IoResult write_some(std::span<const iovec> pieces) override;
  IoResult read_some(void* data, size_t bytes) override;
  int descriptor() const override { return below_->descriptor(); }

 private:
  struct Callbacks;

  void encrypt(std::span<const iovec> pieces);
  /// Up to a record of what follows the first `skip` bytes, copied together if it lies in several pieces.
  std::span<const std::byte> next_record(std::span<const iovec> pieces, size_t skip);
  /// Hands what is encrypted to the link below, as far as it takes it; true if nothing is left.
  bool send_encrypted();
  /// Looks at the outcome of a call of OpenSSL that has not succeeded: an error, or a wait for the peer.
  void note_failure(int result);

  std::unique_ptr<Link> below_;
  SessionKey key_;
  std::unique_ptr<ssl_st, void (*)(ssl_st*)> ssl_;
  uint64_t bytes_per_key_;
  uint64_t bytes_with_key_ = 0;

  /// Records on their way to the link below, of which `encrypted_sent_` bytes are there. They hold `taken_` bytes of
  /// what was to be written, which count as written when the last record has gone.
  std::vector<std::byte> encrypted_;
  size_t encrypted_sent_ = 0;
  size_t taken_ = 0;
  std::vector<std::byte> record_;
  std::string error_;
};

}  // namespace thalweg::comm

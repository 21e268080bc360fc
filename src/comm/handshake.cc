// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/handshake.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <cstring>
#include <vector>

#include "comm/socket.h"

namespace thalweg::comm {
namespace {

constexpr std::array<char, 8> kMagic = {'T', 'W', 'G', 'R', 'O', 'U', 'P', '1'};

/// The role is part of what is hashed: one end's answer must be of no use as the other's.
Mac mac_of(const std::string& secret, const char* role, const Nonce& first, const Nonce& second) {
  std::vector<std::byte> text(std::strlen(role) + first.size() + second.size());
  std::memcpy(text.data(), role, std::strlen(role));
  std::memcpy(text.data() + std::strlen(role), first.data(), first.size());
  std::memcpy(text.data() + std::strlen(role) + first.size(), second.data(), second.size());
  Mac mac;
  unsigned size = 0;
  const unsigned char* result = ::HMAC(::EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                                       reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                                       reinterpret_cast<unsigned char*>(mac.data()), &size);
  TW_REQUIRE(result != nullptr && size == mac.size(), "OpenSSL computes no HMAC-SHA256 here");
  return mac;
}

bool equal(const Mac& left, const Mac& right) { return ::CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0; }

}  // namespace

void fill_random(std::span<std::byte> bytes) {
  TW_REQUIRE(::RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size())) == 1,
             "OpenSSL has no random numbers to give");
}

std::string random_text(size_t bytes) {
  std::vector<std::byte> random(bytes);
  fill_random(random);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte value : random) {
    text += kDigits[std::to_integer<unsigned>(value) >> 4U];
    text += kDigits[std::to_integer<unsigned>(value) & 15U];
  }
  return text;
}

Responder::Responder(const std::string& secret) : secret_(secret), challenge_{kMagic, {}} {
  fill_random(challenge_.nonce);
}

bool Responder::verify(const Response& response, Proof& proof) const {
  if (!equal(response.mac, mac_of(secret_, "connects", challenge_.nonce, response.nonce))) return false;
  proof.mac = mac_of(secret_, "accepts", response.nonce, challenge_.nonce);
  return true;
}

bool authenticate(const FileDescriptor& socket, const std::string& secret, const Deadline& deadline,
                  std::string& error) {
  Challenge challenge;
  if (!read_all(socket, &challenge, sizeof challenge, deadline, error)) return false;
  if (challenge.magic != kMagic) {
    error = "what listens there is no group of Thalweg's";
    return false;
  }
  Response response;
  fill_random(response.nonce);
  response.mac = mac_of(secret, "connects", challenge.nonce, response.nonce);
  if (!write_all(socket, &response, sizeof response, deadline, error)) return false;
  Proof proof;
  if (!read_all(socket, &proof, sizeof proof, deadline, error)) {
    error = "refused, most likely because the secrets differ (" + error + ")";
    return false;
  }
  if (equal(proof.mac, mac_of(secret, "accepts", response.nonce, challenge.nonce))) return true;
  error = "it does not know the group's secret";
  return false;
}

}  // namespace thalweg::comm

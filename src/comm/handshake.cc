// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/handshake.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <cstring>
#include <thread>
#include <vector>

#include "comm/socket.h"
#include "comm/socket_link.h"

namespace thalweg::comm {
namespace {

constexpr Magic kPlain = {'T', 'W', 'G', 'R', 'O', 'U', 'P', '2'};
constexpr Magic kTls = {'T', 'W', 'G', 'R', 'T', 'L', 'S', '2'};

/// Before a handshake that was cut off is tried again, twice as long each time.
constexpr std::chrono::milliseconds kFirstPause{50};
constexpr std::chrono::milliseconds kLastPause{200};

Magic magic_of(const Security& security) { return security.tls ? kTls : kPlain; }

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

/// By HKDF-SHA256, of the secret and both ends' challenges.
SessionKey derive_key(const std::string& secret, const Nonce& accepts, const Nonce& connects) {
  std::array<std::byte, 2 * std::tuple_size_v<Nonce>> salt;
  std::copy(connects.begin(), connects.end(), std::copy(accepts.begin(), accepts.end(), salt.begin()));
  std::string key = secret, hash = "SHA256", purpose = "thalweg TLS 1.3 PSK";
  const OSSL_PARAM parameters[] = {
      ::OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, hash.data(), hash.size()),
      ::OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, key.data(), key.size()),
      ::OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, salt.data(), salt.size()),
      ::OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, purpose.data(), purpose.size()),
      ::OSSL_PARAM_construct_end()};
  const std::unique_ptr<EVP_KDF, decltype(&::EVP_KDF_free)> kind(::EVP_KDF_fetch(nullptr, "HKDF", nullptr),
                                                                 ::EVP_KDF_free);
  const std::unique_ptr<EVP_KDF_CTX, decltype(&::EVP_KDF_CTX_free)> context(::EVP_KDF_CTX_new(kind.get()),
                                                                            ::EVP_KDF_CTX_free);
  SessionKey result;
  TW_REQUIRE(context != nullptr && ::EVP_KDF_derive(context.get(), reinterpret_cast<unsigned char*>(result.data()),
                                                    result.size(), parameters) == 1,
             "OpenSSL computes no HKDF-SHA256 here");
  return result;
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

Responder::Responder(const Security& security) : security_(security), challenge_{magic_of(security), {}} {
  fill_random(challenge_.nonce);
}

bool Responder::verify(const Response& response, Proof& proof, std::string& error) const {
  if (response.magic == magic_of({"", !security_.tls})) {
    error = security_.tls ? "it does not use TLS, as this group does" : "it wants TLS, which this group does not use";
    return false;
  }
  const Mac expected = mac_of(security_.secret, "connects", challenge_.nonce, response.nonce);
  if (response.magic != challenge_.magic || !equal(response.mac, expected)) {
    error = "it does not know the group's secret";
    return false;
  }
  proof.mac = mac_of(security_.secret, "accepts", response.nonce, challenge_.nonce);
  return true;
}

std::optional<SessionKey> Responder::tls_key(const Response& response) const {
  if (!security_.tls) return std::nullopt;
  return derive_key(security_.secret, challenge_.nonce, response.nonce);
}

std::optional<SessionKey> authenticate(const FileDescriptor& socket, const Security& security, const Deadline& deadline,
                                       std::string& error, bool* cut_off) {
  const auto ended = [&] {
    if (cut_off != nullptr) *cut_off = !deadline.expired();
    return std::nullopt;
  };
  Challenge challenge;
  if (!read_all(socket, &challenge, sizeof challenge, deadline, error)) return ended();
  if (challenge.magic != kPlain && challenge.magic != kTls) {
    error = "what listens there is no group of Thalweg's";
    return std::nullopt;
  }
  Response response{magic_of(security), {}, {}};
  if (challenge.magic != response.magic) {
    // So that the other end can say what is wrong as well.
    write_all(socket, &response, sizeof response, deadline, error);
    error = security.tls ? "the group does not use TLS, which this member insists on"
                         : "the group uses TLS, which this member was not told to";
    return std::nullopt;
  }
  fill_random(response.nonce);
  response.mac = mac_of(security.secret, "connects", challenge.nonce, response.nonce);
  if (!write_all(socket, &response, sizeof response, deadline, error)) return ended();
  Proof proof;
  if (!read_all(socket, &proof, sizeof proof, deadline, error)) {
    error = "refused, most likely because the secrets differ (" + error + ")";
    return ended();
  }
  if (!equal(proof.mac, mac_of(security.secret, "accepts", response.nonce, challenge.nonce))) {
    error = "it does not know the group's secret";
    return std::nullopt;
  }
  return derive_key(security.secret, challenge.nonce, response.nonce);
}

std::unique_ptr<Link> open_link(FileDescriptor socket, const Security& security, const Deadline& deadline,
                                std::string& error, bool* cut_off) {
  const std::optional<SessionKey> key = authenticate(socket, security, deadline, error, cut_off);
  if (!key) return nullptr;
  auto link = std::make_unique<SocketLink>(std::move(socket));
  if (!security.tls) return link;
  auto encrypted = std::make_unique<TlsLink>(std::move(link), *key, TlsRole::kConnects);
  if (encrypted->handshake(deadline, error)) return encrypted;
  if (cut_off != nullptr) *cut_off = !deadline.expired();
  return nullptr;
}

std::unique_ptr<Link> connect_link(const std::function<FileDescriptor(std::string& error)>& connect,
                                   const Security& security, const Deadline& deadline, std::string& error) {
  for (auto pause = kFirstPause;; pause *= 2) {
    FileDescriptor socket = connect(error);
    if (!socket.valid()) return nullptr;
    bool cut_off = false;
    std::unique_ptr<Link> link = open_link(std::move(socket), security, deadline, error, &cut_off);
    if (!cut_off || pause > kLastPause || deadline.remaining() <= pause) return link;
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace thalweg::comm

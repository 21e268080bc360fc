// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/tls_link.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstring>

#include "comm/socket.h"
#include "thalweg/error.h"

namespace thalweg::comm {
namespace {

constexpr size_t kRecordBytes = SSL3_RT_MAX_PLAIN_LENGTH;
/// So much is encrypted before it goes to the link below in one call, and read from it in one: four records.
constexpr size_t kAtOnce = 4 * kRecordBytes;
constexpr size_t kReadBuffer = 4 * (kRecordBytes + SSL3_RT_MAX_ENCRYPTED_OVERHEAD + SSL3_RT_HEADER_LENGTH);
/// AES-NI makes it the quickest; its hash is that of the session keys.
constexpr const char* kCipherSuite = "TLS_AES_128_GCM_SHA256";
constexpr unsigned char kCipherSuiteId[] = {0x13, 0x01};
/// Both ends have one key: its name tells nothing.
constexpr char kKeyName[] = "thalweg";

template <typename... Parts>
void require(bool done, const Parts&... parts) {
  TW_REQUIRE(done, "OpenSSL offers no TLS 1.3 here: ", parts...);
}

SSL_SESSION* session_of(SSL* ssl, const SessionKey& key) {
  SSL_SESSION* session = ::SSL_SESSION_new();
  const bool made =
      session != nullptr &&
      ::SSL_SESSION_set1_master_key(session, reinterpret_cast<const unsigned char*>(key.data()), key.size()) == 1 &&
      ::SSL_SESSION_set_cipher(session, ::SSL_CIPHER_find(ssl, kCipherSuiteId)) == 1 &&
      ::SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1;
  if (made) return session;
  ::SSL_SESSION_free(session);
  return nullptr;
}

std::string newest_error() {
  const unsigned long code = ::ERR_peek_last_error();
  const char* reason = code != 0 ? ::ERR_reason_error_string(code) : nullptr;
  return std::string("TLS: ") + (reason != nullptr ? reason : "the peer broke the protocol");
}

}  // namespace

/// What OpenSSL calls, with the link that it is about.
struct TlsLink::Callbacks {
  static TlsLink& link_of(BIO* bio) { return *static_cast<TlsLink*>(::BIO_get_data(bio)); }

  static int read(BIO* bio, char* data, int bytes) {
    TlsLink& link = link_of(bio);
    ::BIO_clear_retry_flags(bio);
    const IoResult result = link.below_->read_some(data, static_cast<size_t>(bytes));
    if (!result.error.empty()) {
      link.error_ = result.error;
      return -1;
    }
    if (result.bytes > 0) return static_cast<int>(result.bytes);
    ::BIO_set_retry_read(bio);
    return -1;
  }

  static int write(BIO* bio, const char* data, int bytes) {
    std::vector<std::byte>& encrypted = link_of(bio).encrypted_;
    const auto* begin = reinterpret_cast<const std::byte*>(data);
    encrypted.insert(encrypted.end(), begin, begin + bytes);
    return bytes;
  }

  static long control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }

  static int use_session(SSL* ssl, const EVP_MD* /*hash*/, const unsigned char** name, size_t* name_bytes,
                         SSL_SESSION** session) {
    *name = reinterpret_cast<const unsigned char*>(kKeyName);
    *name_bytes = sizeof kKeyName - 1;
    *session = session_of(ssl, static_cast<TlsLink*>(SSL_get_app_data(ssl))->key_);
    return *session != nullptr ? 1 : 0;
  }

  static int find_session(SSL* ssl, const unsigned char* /*name*/, size_t /*name_bytes*/, SSL_SESSION** session) {
    *session = session_of(ssl, static_cast<TlsLink*>(SSL_get_app_data(ssl))->key_);
    return *session != nullptr ? 1 : 0;
  }

  /// Lives as long as the process: links may be used until its end.
  static BIO_METHOD* method() {
    static BIO_METHOD* const kMethod = [] {
      BIO_METHOD* made = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "thalweg link");
      require(made != nullptr && ::BIO_meth_set_read(made, read) == 1 && ::BIO_meth_set_write(made, write) == 1 &&
                  ::BIO_meth_set_ctrl(made, control) == 1,
              "no BIO");
      return made;
    }();
    return kMethod;
  }

  static SSL_CTX* context() {
    static SSL_CTX* const kContext = [] {
      SSL_CTX* made = ::SSL_CTX_new(::TLS_method());
      require(made != nullptr && ::SSL_CTX_set_min_proto_version(made, TLS1_3_VERSION) == 1 &&
                  ::SSL_CTX_set_max_proto_version(made, TLS1_3_VERSION) == 1 &&
                  ::SSL_CTX_set_ciphersuites(made, kCipherSuite) == 1 && ::SSL_CTX_set_num_tickets(made, 0) == 1,
              newest_error());
      ::SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);
      ::SSL_CTX_set_mode(made, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
      ::SSL_CTX_set_read_ahead(made, 1);
      ::SSL_CTX_set_default_read_buffer_len(made, kReadBuffer);
      ::SSL_CTX_set_psk_use_session_callback(made, use_session);
      ::SSL_CTX_set_psk_find_session_callback(made, find_session);
      return made;
    }();
    return kContext;
  }
};

TlsLink::TlsLink(std::unique_ptr<Link> below, const SessionKey& key, TlsRole role, uint64_t bytes_per_key)
    : below_(std::move(below)),
      key_(key),
      ssl_(::SSL_new(Callbacks::context()), ::SSL_free),
      bytes_per_key_(bytes_per_key) {
  BIO* bio = ssl_ != nullptr ? ::BIO_new(Callbacks::method()) : nullptr;
  require(bio != nullptr && SSL_set_app_data(ssl_.get(), this) == 1, "no memory");
  ::BIO_set_data(bio, this);
  ::BIO_set_init(bio, 1);
  ::SSL_set_bio(ssl_.get(), bio, bio);
  if (role == TlsRole::kConnects) {
    ::SSL_set_connect_state(ssl_.get());
    // There are no authorities to trust: who answers with a certificate in place of the key fails.
    ::SSL_set_verify(ssl_.get(), SSL_VERIFY_PEER, nullptr);
  } else {
    ::SSL_set_accept_state(ssl_.get());
  }
}

TlsLink::~TlsLink() { ::OPENSSL_cleanse(key_.data(), key_.size()); }

void TlsLink::note_failure(int result) {
  const int kind = ::SSL_get_error(ssl_.get(), result);
  if (kind == SSL_ERROR_WANT_READ || !error_.empty()) return;
  error_ = kind == SSL_ERROR_ZERO_RETURN ? "connection closed" : newest_error();
}

bool TlsLink::handshake() {
  if (!error_.empty()) return false;
  ::ERR_clear_error();
  const int result = ::SSL_do_handshake(ssl_.get());
  if (result != 1) note_failure(result);
  const bool sent = send_encrypted();
  if (result != 1 || !sent || !error_.empty()) return false;
  // OpenSSL counts a key that both have as a session that goes on.
  if (::SSL_session_reused(ssl_.get()) != 1) error_ = "TLS: the peer does not have the key";
  return error_.empty();
}

bool TlsLink::handshake(const Deadline& deadline, std::string& error) {
  while (!handshake()) {
    if (error_.empty() && !wait_ready(descriptor(), !encrypted_.empty(), deadline)) error_ = "TLS: no answer";
    if (!error_.empty()) {
      error = error_;
      return false;
    }
  }
  return true;
}

IoResult TlsLink::read_some(void* data, size_t bytes) {
  if (!error_.empty()) return {0, error_};
  ::ERR_clear_error();
  size_t count = 0;
  const int result = ::SSL_read_ex(ssl_.get(), data, bytes, &count);
  if (result == 1) return {count, {}};
  note_failure(result);
  // Before the handshake is done, the attempt to read may have made an answer, and after a failure an alert.
  send_encrypted();
  return {0, error_};
}

IoResult TlsLink::write_some(std::span<const iovec> pieces) {
  if (taken_ == 0 && error_.empty()) encrypt(pieces);
  const bool sent = send_encrypted();
  if (!error_.empty()) return {0, error_};
  return {sent ? std::exchange(taken_, 0) : 0, {}};
}

void TlsLink::encrypt(std::span<const iovec> pieces) {
  ::ERR_clear_error();
  while (taken_ < kAtOnce) {
    const std::span<const std::byte> record = next_record(pieces, taken_);
    if (record.empty()) return;
    size_t count = 0;
    const int result = ::SSL_write_ex(ssl_.get(), record.data(), record.size(), &count);
    if (result != 1) return note_failure(result);
    taken_ += count;
    bytes_with_key_ += count;
    if (bytes_with_key_ >= bytes_per_key_) {
      ::SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
      bytes_with_key_ = 0;
    }
  }
}

std::span<const std::byte> TlsLink::next_record(std::span<const iovec> pieces, size_t skip) {
  record_.clear();
  for (const iovec& piece : pieces) {
    const size_t skipped = std::min(skip, piece.iov_len);
    skip -= skipped;
    const std::span rest(static_cast<const std::byte*>(piece.iov_base) + skipped, piece.iov_len - skipped);
    const std::span part = rest.first(std::min(rest.size(), kRecordBytes - record_.size()));
    if (record_.empty() && (part.size() == kRecordBytes || &piece == &pieces.back())) return part;
    record_.insert(record_.end(), part.begin(), part.end());
  }
  return record_;
}

bool TlsLink::send_encrypted() {
  while (encrypted_sent_ < encrypted_.size()) {
    const iovec rest{encrypted_.data() + encrypted_sent_, encrypted_.size() - encrypted_sent_};
    const IoResult result = below_->write_some({&rest, 1});
    if (!result.error.empty() && error_.empty()) error_ = result.error;
    if (result.bytes == 0) return false;
    encrypted_sent_ += result.bytes;
  }
  encrypted_.clear();
  encrypted_sent_ = 0;
  return true;
}

}  // namespace thalweg::comm

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/connection.h"

#include <cstring>

#include "comm/socket.h"
#include "comm/socket_link.h"

namespace thalweg::comm {
namespace {

constexpr size_t kLengthBytes = sizeof(uint32_t);

template <typename T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

Connection::Connection(FileDescriptor socket, const Security& security)
    : link_(std::make_unique<SocketLink>(std::move(socket))),
      responder_(security),
      outgoing_(bytes_of(responder_->challenge())) {
  flush();
}

void Connection::fail(const std::string& why) {
  if (error_.empty()) error_ = why;
}

bool Connection::fill(size_t bytes) {
  while (incoming_.size() < bytes) {
    const size_t have = incoming_.size();
    incoming_.resize(bytes);
    const IoResult result = link_->read_some(incoming_.data() + have, bytes - have);
    incoming_.resize(have + result.bytes);
    if (!result.error.empty()) fail(result.error);
    if (result.bytes == 0) return false;
  }
  return true;
}

bool Connection::answer_challenge() {
  if (!fill(sizeof(Response))) return false;
  Response response;
  std::memcpy(&response, incoming_.data(), sizeof response);
  incoming_.clear();
  Proof proof;
  std::string why;
  if (!responder_->verify(response, proof, why)) {
    fail(why);
    return false;
  }
  tls_key_ = responder_->tls_key(response);
  responder_.reset();
  outgoing_ += bytes_of(proof);
  flush();
  return true;
}

bool Connection::begin_tls() {
  if (!flush()) return false;
  link_ = std::make_unique<TlsLink>(std::move(link_), *tls_key_, TlsRole::kAccepts);
  tls_key_.reset();
  return true;
}

std::optional<nlohmann::json> Connection::receive() {
  if (!error_.empty()) return std::nullopt;
  if (responder_ && !answer_challenge()) return std::nullopt;
  if (tls_key_ && !begin_tls()) return std::nullopt;
  if (!fill(kLengthBytes)) return std::nullopt;
  uint32_t length = 0;
  std::memcpy(&length, incoming_.data(), sizeof length);
  if (length > kMostFrameBytes) {
    fail("it announced a message of " + std::to_string(length) + " bytes");
    return std::nullopt;
  }
  if (!fill(kLengthBytes + length)) return std::nullopt;
  nlohmann::json message = nlohmann::json::parse(incoming_.begin() + kLengthBytes, incoming_.end(), nullptr, false);
  incoming_.clear();
  if (message.is_object()) return message;
  fail("it sent what is no JSON object");
  return std::nullopt;
}

void Connection::send(const nlohmann::json& message) {
  // Reasons quote names of files and hosts, in which any bytes may be.
  const std::string text = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  outgoing_ += bytes_of(static_cast<uint32_t>(text.size())) + text;
  flush();
}

bool Connection::flush() {
  while (!outgoing_.empty() && error_.empty()) {
    const iovec piece{outgoing_.data(), outgoing_.size()};
    const IoResult result = link_->write_some({&piece, 1});
    if (!result.error.empty()) fail(result.error);
    if (result.bytes == 0) break;
    outgoing_.erase(0, result.bytes);
  }
  return outgoing_.empty();
}

bool Connection::send_and_flush(const nlohmann::json& message, const Deadline& deadline) {
  send(message);
  while (!flush() && error_.empty()) {
    if (!wait_ready(descriptor(), true, deadline)) fail("no answer");
  }
  return error_.empty();
}

}  // namespace thalweg::comm

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/connection.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "comm/socket.h"

namespace thalweg::comm {
namespace {

constexpr size_t kLengthBytes = sizeof(uint32_t);

template <typename T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

Connection::Connection(FileDescriptor socket, const std::string& secret)
    : socket_(std::move(socket)), responder_(secret), outgoing_(bytes_of(responder_->challenge())) {
  flush();
}

Connection::Connection(FileDescriptor socket) : socket_(std::move(socket)) {}

void Connection::fail(const std::string& why) {
  if (error_.empty()) error_ = why;
}

bool Connection::fill(size_t bytes) {
  while (incoming_.size() < bytes) {
    const size_t have = incoming_.size();
    incoming_.resize(bytes);
    const ssize_t count = ::recv(socket_.get(), incoming_.data() + have, bytes - have, 0);
    incoming_.resize(have + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count > 0) continue;
    if (count == 0) fail("connection closed");
    if (count < 0 && errno != EAGAIN && errno != EINTR) fail(std::strerror(errno));
    return false;
  }
  return true;
}

bool Connection::answer_challenge() {
  if (!fill(sizeof(Response))) return false;
  Response response;
  std::memcpy(&response, incoming_.data(), sizeof response);
  incoming_.clear();
  Proof proof;
  if (!responder_->verify(response, proof)) {
    fail("it does not know the group's secret");
    return false;
  }
  responder_.reset();
  outgoing_ += bytes_of(proof);
  flush();
  return true;
}

std::optional<nlohmann::json> Connection::receive() {
  if (!error_.empty()) return std::nullopt;
  if (responder_ && !answer_challenge()) return std::nullopt;
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
    const ssize_t count = ::send(socket_.get(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
    if (count > 0) {
      outgoing_.erase(0, static_cast<size_t>(count));
    } else if (errno == EAGAIN || errno == EINTR) {
      break;
    } else {
      fail(std::strerror(errno));
    }
  }
  return outgoing_.empty();
}

bool Connection::send_and_flush(const nlohmann::json& message, const Deadline& deadline) {
  send(message);
  while (!flush() && error_.empty()) {
    if (!wait_ready(socket_, true, deadline)) fail("no answer");
  }
  return error_.empty();
}

}  // namespace thalweg::comm

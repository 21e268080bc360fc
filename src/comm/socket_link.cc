// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/socket_link.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "thalweg/error.h"

namespace thalweg::comm {
namespace {

/// A result of sendmsg or recv as an IoResult.
IoResult result_of(ssize_t count) {
  if (count >= 0) return {static_cast<size_t>(count), {}};
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {};
  return {0, std::strerror(errno)};
}

}  // namespace

SocketLink::SocketLink(FileDescriptor socket) : socket_(std::move(socket)) {
  const int flags = ::fcntl(socket_.get(), F_GETFL);
  TW_REQUIRE(flags >= 0 && ::fcntl(socket_.get(), F_SETFL, flags | O_NONBLOCK) == 0,
             "cannot make a socket nonblocking: ", std::strerror(errno));
}

IoResult SocketLink::write_some(std::span<const iovec> pieces) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces.data());
  message.msg_iovlen = pieces.size();
  return result_of(::sendmsg(socket_.get(), &message, MSG_NOSIGNAL));
}

IoResult SocketLink::read_some(void* data, size_t bytes) {
  const ssize_t count = ::recv(socket_.get(), data, bytes, 0);
  if (count == 0 && bytes > 0) return {0, "connection closed"};
  return result_of(count);
}

}  // namespace thalweg::comm

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/deadline.h"
#include "comm/file_descriptor.h"
#include "thalweg/comm.h"

namespace thalweg::comm {

/// "host:port"; a port of 0 lets the system choose when listening. Throws Error naming the text if it is neither.
struct Address {
  std::string host;
  int port = 0;
  static Address parse(const std::string& text);
  std::string text() const;
};

/// A socket that listens, nonblocking. Throws Error naming the address.
FileDescriptor listen_tcp(const Address& address);
/// In the abstract name space of this host's network: no file, gone with the process.
FileDescriptor listen_local(const std::string& name);
/// The port that a listening socket got.
int port_of(const FileDescriptor& socket);
/// A waiting connection, nonblocking; invalid if there is none.
FileDescriptor accept_one(const FileDescriptor& listener);

/// Tries again until the deadline as long as nobody listens there. Nonblocking once connected.
FileDescriptor connect_tcp(const Address& address, const Deadline& deadline, std::string& error);
FileDescriptor connect_local(const std::string& name, const Deadline& deadline, std::string& error);

/// The numeric address of this end of a connection, by which the other end's network can reach this host.
std::string own_address(int connected);
/// Whether the host of an address, by number or as "localhost", can be reached from itself only.
bool is_loopback(const std::string& host);
/// The numeric address of this host's first interface that is up and leads to other hosts; empty if there is none.
std::string outside_address();
/// For messages: "10.0.0.7:4711".
std::string peer_address(const FileDescriptor& connected);

/// Waits until the socket is readable or, if `write`, writable. False when the deadline has passed.
bool wait_ready(int socket, bool write, const Deadline& deadline);
/// All of it; false, with the reason, if that is not possible before the deadline.
bool write_all(const FileDescriptor& socket, const void* data, size_t bytes, const Deadline& deadline,
               std::string& error);
bool read_all(const FileDescriptor& socket, void* data, size_t bytes, const Deadline& deadline, std::string& error);

/// A descriptor through a local socket, to be used by another process.
bool send_descriptor(int socket, int descriptor, const Deadline& deadline, std::string& error);
FileDescriptor receive_descriptor(int socket, const Deadline& deadline, std::string& error);

}  // namespace thalweg::comm

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/socket.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace thalweg::comm {
namespace {

constexpr int kType = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
constexpr int kBacklog = 512;
constexpr std::chrono::milliseconds kRetry{20};
/// How soon a wait notices that it was cancelled.
constexpr int kSliceMilliseconds = 50;

struct Resolved {
  addrinfo* list = nullptr;
  ~Resolved() {
    if (list != nullptr) ::freeaddrinfo(list);
  }
};

bool resolve(const Address& address, Resolved& result, std::string& error) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (address.host.empty() ? AI_PASSIVE : 0);
  const int code = ::getaddrinfo(address.host.empty() ? nullptr : address.host.c_str(),
                                 std::to_string(address.port).c_str(), &hints, &result.list);
  if (code != 0) error = "cannot resolve '" + address.host + "': " + ::gai_strerror(code);
  return code == 0;
}

/// Where every address is meant, those of IPv6 first: such a socket takes connections to those of IPv4 as well.
std::vector<const addrinfo*> in_order_to_listen(const Resolved& resolved, bool everywhere) {
  std::vector<const addrinfo*> entries;
  for (const addrinfo* entry = resolved.list; entry != nullptr; entry = entry->ai_next) entries.push_back(entry);
  const auto is_six = [](const addrinfo* entry) { return entry->ai_family == AF_INET6; };
  if (everywhere) std::stable_partition(entries.begin(), entries.end(), is_six);
  return entries;
}

/// Small messages must not wait for more to come.
void send_at_once(const FileDescriptor& socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// Waits for the outcome of a nonblocking connect.
bool finish_connect(const FileDescriptor& socket, int result, const Deadline& deadline, std::string& error) {
  if (result == 0) return true;
  if (errno != EINPROGRESS) {
    error = std::strerror(errno);
    return false;
  }
  if (!wait_ready(socket.get(), true, deadline)) {
    error = "no answer";
    return false;
  }
  int code = 0;
  socklen_t size = sizeof code;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &code, &size);
  if (code != 0) error = std::strerror(code);
  return code == 0;
}

sockaddr_un local_address(const std::string& name, socklen_t& size) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  TW_REQUIRE(name.size() + 1 < sizeof address.sun_path, "the name of a local socket is too long: ", name);
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

/// Empty if it has none.
std::string numeric_host(const sockaddr* address, socklen_t size) {
  char host[NI_MAXHOST] = {};
  ::getnameinfo(address, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  return host;
}

/// 127.0.0.0/8, in the byte order of the network.
bool is_loopback_number(in_addr_t address) { return (ntohl(address) >> 24U) == IN_LOOPBACKNET; }

template <typename Attempt>
FileDescriptor retry(const Deadline& deadline, std::string& error, Attempt attempt) {
  for (;;) {
    FileDescriptor socket = attempt();
    if (socket.valid()) return socket;
    if (deadline.expired()) return {};
    if (const auto left = deadline.remaining(); left <= kRetry) {
      // Whoever asks why must see that the time was over, not that somebody was lost before.
      std::this_thread::sleep_for(left);
      return {};
    }
    error.clear();
    std::this_thread::sleep_for(kRetry);
  }
}

}  // namespace

Address Address::parse(const std::string& text) {
  const size_t colon = text.rfind(':');
  const std::string port = colon == std::string::npos ? "" : text.substr(colon + 1);
  const bool digits = !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == std::string::npos;
  TW_REQUIRE(digits && std::stoi(port) <= 65535, "'", text, "' is not an address of the form host:port");
  std::string host = text.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return {host, std::stoi(port)};
}

std::string Address::text() const {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + std::to_string(port);
}

FileDescriptor listen_tcp(const Address& address) {
  Resolved resolved;
  std::string error;
  TW_REQUIRE(resolve(address, resolved, error), error);
  for (const addrinfo* entry : in_order_to_listen(resolved, address.host.empty())) {
    FileDescriptor socket(::socket(entry->ai_family, kType, 0));
    if (!socket.valid()) {
      // A kind of address that this host does not have says less than why another could not be used.
      if (error.empty()) error = std::strerror(errno);
      continue;
    }
    const int on = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const int off = 0;
    if (entry->ai_family == AF_INET6) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (::bind(socket.get(), entry->ai_addr, entry->ai_addrlen) == 0 && ::listen(socket.get(), kBacklog) == 0) {
      return socket;
    }
    error = std::strerror(errno);
  }
  raise("cannot listen at ", address.text(), ": ", error);
}

FileDescriptor listen_local(const std::string& name) {
  FileDescriptor socket(::socket(AF_UNIX, kType, 0));
  socklen_t size = 0;
  const sockaddr_un address = local_address(name, size);
  const bool listening = socket.valid() &&
                         ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                         ::listen(socket.get(), kBacklog) == 0;
  TW_REQUIRE(listening, "cannot listen at the local socket ", name, ": ", std::strerror(errno));
  return socket;
}

int port_of(const FileDescriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  TW_REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0,
             "a socket has no address: ", std::strerror(errno));
  return address.ss_family == AF_INET6 ? ntohs(reinterpret_cast<sockaddr_in6*>(&address)->sin6_port)
                                       : ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

FileDescriptor accept_one(const FileDescriptor& listener) {
  FileDescriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.valid()) send_at_once(socket);
  return socket;
}

FileDescriptor connect_tcp(const Address& address, const Deadline& deadline, std::string& error) {
  return retry(deadline, error, [&]() -> FileDescriptor {
    Resolved resolved;
    if (!resolve(address, resolved, error)) return {};
    for (const addrinfo* entry = resolved.list; entry != nullptr; entry = entry->ai_next) {
      FileDescriptor socket(::socket(entry->ai_family, kType, 0));
      if (!socket.valid()) {
        error = std::strerror(errno);
        continue;
      }
      const int result = ::connect(socket.get(), entry->ai_addr, entry->ai_addrlen);
      if (!finish_connect(socket, result, deadline, error)) continue;
      send_at_once(socket);
      return socket;
    }
    return {};
  });
}

FileDescriptor connect_local(const std::string& name, const Deadline& deadline, std::string& error) {
  return retry(deadline, error, [&]() -> FileDescriptor {
    FileDescriptor socket(::socket(AF_UNIX, kType, 0));
    socklen_t size = 0;
    const sockaddr_un address = local_address(name, size);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0) return socket;
    error = std::strerror(errno);
    return {};
  });
}

std::string own_address(int connected) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  const bool known = ::getsockname(connected, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  TW_REQUIRE(known, "a connected socket has no address: ", std::strerror(errno));
  return numeric_host(reinterpret_cast<sockaddr*>(&address), size);
}

bool is_loopback(const std::string& host) {
  if (host == "localhost") return true;
  in_addr four{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return is_loopback_number(four.s_addr);
  in6_addr six{};
  if (::inet_pton(AF_INET6, host.c_str(), &six) != 1) return false;
  uint32_t last = 0;
  std::memcpy(&last, six.s6_addr + 12, sizeof last);
  return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && is_loopback_number(last));
}

std::string outside_address() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return "";
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  std::string result;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    constexpr unsigned kUsable = IFF_UP | IFF_RUNNING;
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & (kUsable | IFF_LOOPBACK)) != kUsable) continue;
    if (entry->ifa_addr->sa_family == AF_INET) return numeric_host(entry->ifa_addr, sizeof(sockaddr_in));
    if (entry->ifa_addr->sa_family != AF_INET6 || !result.empty()) continue;
    // A link-local one means nothing without the name that the interface has on this host.
    const auto* six = reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr);
    if (!IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)) result = numeric_host(entry->ifa_addr, sizeof(sockaddr_in6));
  }
  return result;
}

std::string peer_address(const FileDescriptor& connected) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char host[NI_MAXHOST], port[NI_MAXSERV];
  const bool connects = ::getpeername(connected.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0;
  if (connects && address.ss_family == AF_UNIX) return "a process of this host";
  const bool known = connects && ::getnameinfo(reinterpret_cast<sockaddr*>(&address), size, host, sizeof host, port,
                                               sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) == 0;
  if (!known) return "a connection that is gone";
  // An address of IPv4, as a socket of IPv6 sees it.
  constexpr const char kMapped[] = "::ffff:";
  const bool mapped = std::strncmp(host, kMapped, sizeof kMapped - 1) == 0;
  return Address{mapped ? host + sizeof kMapped - 1 : host, std::stoi(port)}.text();
}

bool wait_ready(int socket, bool write, const Deadline& deadline) {
  do {
    pollfd entry{socket, static_cast<short>(write ? POLLOUT : POLLIN), 0};
    if (::poll(&entry, 1, deadline.poll_milliseconds(kSliceMilliseconds)) > 0) return true;
  } while (!deadline.expired());
  return false;
}

bool write_all(const FileDescriptor& socket, const void* data, size_t bytes, const Deadline& deadline,
               std::string& error) {
  const auto* next = static_cast<const std::byte*>(data);
  while (bytes > 0) {
    const ssize_t count = ::send(socket.get(), next, bytes, MSG_NOSIGNAL);
    if (count > 0) {
      next += count;
      bytes -= static_cast<size_t>(count);
    } else if (errno != EAGAIN && errno != EINTR) {
      error = std::strerror(errno);
      return false;
    } else if (!wait_ready(socket.get(), true, deadline)) {
      error = "no answer";
      return false;
    }
  }
  return true;
}

bool read_all(const FileDescriptor& socket, void* data, size_t bytes, const Deadline& deadline, std::string& error) {
  auto* next = static_cast<std::byte*>(data);
  while (bytes > 0) {
    const ssize_t count = ::recv(socket.get(), next, bytes, 0);
    if (count > 0) {
      next += count;
      bytes -= static_cast<size_t>(count);
    } else if (count == 0) {
      error = "connection closed";
      return false;
    } else if (errno != EAGAIN && errno != EINTR) {
      error = std::strerror(errno);
      return false;
    } else if (!wait_ready(socket.get(), false, deadline)) {
      error = "no answer";
      return false;
    }
  }
  return true;
}

bool send_descriptor(int socket, int descriptor, const Deadline& deadline, std::string& error) {
  char byte = 0;
  iovec piece{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  if (wait_ready(socket, true, deadline) && ::sendmsg(socket, &message, MSG_NOSIGNAL) == 1) return true;
  error = std::strerror(errno);
  return false;
}

FileDescriptor receive_descriptor(int socket, const Deadline& deadline, std::string& error) {
  char byte = 0;
  iovec piece{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (!wait_ready(socket, false, deadline) || ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) {
    error = "no descriptor came";
    return {};
  }
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(int))) {
    error = "the message held no descriptor";
    return {};
  }
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return FileDescriptor(descriptor);
}

}  // namespace thalweg::comm

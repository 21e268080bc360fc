// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/process_keeper.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <set>

#include "thalweg/error.h"

namespace thalweg::cli {
namespace {

/// A group to keep, or (negative) one to let go.
using Order = pid_t;

[[noreturn]] void keep_until_the_end(int orders) {
  // Whatever ends the parent, a terminal that closes for one, must leave this process to see it.
  ::setsid();
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_IGN);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, standard);
  std::set<pid_t> kept;
  Order order = 0;
  for (;;) {
    const ssize_t count = ::read(orders, &order, sizeof order);
    if (count < 0 && errno == EINTR) continue;
    if (count != sizeof order) break;
    if (order > 0) {
      kept.insert(order);
    } else {
      kept.erase(-order);
    }
  }
  for (const pid_t group : kept) ::kill(-group, SIGKILL);
  ::_exit(0);
}

void write_order(int orders, Order order) {
  // Should the keeper have been killed, the workers are no worse off than without one.
  [[maybe_unused]] const ssize_t sent = ::send(orders, &order, sizeof order, MSG_NOSIGNAL);
}

}  // namespace

ProcessKeeper::ProcessKeeper() {
  int ends[2];
  TW_REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0,
             "cannot make a pair of sockets: ", std::strerror(errno));
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(ends[1]);
    keep_until_the_end(ends[0]);
  }
  const int reason = errno;
  ::close(ends[0]);
  orders_ = ends[1];
  if (pid_ > 0) return;
  ::close(orders_);
  raise("cannot start a process: ", std::strerror(reason));
}

ProcessKeeper::~ProcessKeeper() {
  ::close(orders_);
  ::waitpid(pid_, nullptr, 0);
}

void ProcessKeeper::keep(pid_t group) const { write_order(orders_, group); }
void ProcessKeeper::release(pid_t group) const { write_order(orders_, -group); }

}  // namespace thalweg::cli

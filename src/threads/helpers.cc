// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "threads/helpers.h"

#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <cstdlib>
#include <new>

#include "threads/spin.h"

namespace thalweg::threads {
namespace {

/// The helpers that nobody has borrowed; the one that came back last, whose caches are warmest, is the first to go.
struct Pool {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  Helper* free = nullptr;
  int started = 0;
};

constinit Pool pool;

class PoolLock {
 public:
  PoolLock() { ::pthread_mutex_lock(&pool.mutex); }
  ~PoolLock() { ::pthread_mutex_unlock(&pool.mutex); }
  PoolLock(const PoolLock&) = delete;
  PoolLock& operator=(const PoolLock&) = delete;
};

// A child has none of the helpers; those of the parent are memory that nobody uses.
void before_fork() { ::pthread_mutex_lock(&pool.mutex); }
void after_fork_in_parent() { ::pthread_mutex_unlock(&pool.mutex); }
void after_fork_in_child() {
  pool.mutex = PTHREAD_MUTEX_INITIALIZER;
  pool.free = nullptr;
  pool.started = 0;
  current.helpers = nullptr;
  current.num_helpers = 0;
  reset_contention(current.engaged);
}

__attribute__((constructor)) void prepare() {
  processors();
  ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/// While it lives threads start with signals blocked: those that are sent to the process are for its own threads. What
/// a fault of the thread itself raises stays as it is, for whoever reports crashes, and so does the clock of profilers.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t blocked;
    ::sigfillset(&blocked);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF})
      ::sigdelset(&blocked, own);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

/// A list of helpers, and its end.
struct Chain {
  Helper* first = nullptr;
  Helper* last = nullptr;
  int count = 0;

  void add(Helper* helper) {
    helper->next = first;
    first = helper;
    if (last == nullptr) last = helper;
    ++count;
  }
};

void put_back(const Chain& chain) {
  if (chain.count == 0) return;
  chain.last->next = pool.free;
  pool.free = chain.first;
}

}  // namespace

Helper* Helper::start(int& problem) {
  void* memory = nullptr;
  problem = ::posix_memalign(&memory, 64, sizeof(Helper));
  if (problem != 0) return nullptr;
  auto* helper = new (memory) Helper;
  const SignalsBlocked blocked;
  pthread_t thread{};
  problem = ::pthread_create(&thread, nullptr, main, helper);
  if (problem != 0) {
    std::free(memory);
    return nullptr;
  }
  ::pthread_setname_np(thread, "thalweg");
  ::pthread_detach(thread);
  return helper;
}

void* Helper::main(void* self) {
  auto& helper = *static_cast<Helper*>(self);
  for (;;) {
    helper.wait_for_offer();
    Team& team = *helper.team_;
    team.run_part(helper.number_);
    helper.state_.store(kAwake, std::memory_order_release);
    team.part_ended();
  }
  return nullptr;
}

void Helper::wait_for_offer() {
  Spin spin;
  for (;;) {
    uint32_t state = state_.load(std::memory_order_acquire);
    if (state == kOffered && state_.compare_exchange_strong(state, kTaken, std::memory_order_acq_rel)) return;
    if (state == kOffered || spin.goes_on()) continue;
    state = kAwake;
    if (!state_.compare_exchange_strong(state, kAsleep, std::memory_order_acq_rel)) continue;
    while (state_.load(std::memory_order_acquire) == kAsleep) futex_wait(state_, kAsleep);
    spin = Spin();
  }
}

void Helper::offer(Team& team, int number) {
  team_ = &team;
  number_ = number;
  if (state_.exchange(kOffered, std::memory_order_acq_rel) == kAsleep) futex_wake_one(state_);
}

bool Helper::take_back() {
  uint32_t state = kOffered;
  return state_.compare_exchange_strong(state, kAwake, std::memory_order_acq_rel);
}

int borrow_helpers(int count) {
  Current& me = current;
  if (me.num_helpers >= count) return 0;
  Chain chain;
  int problem = 0;
  const PoolLock lock;
  while (me.num_helpers + chain.count < count) {
    Helper* helper = pool.free;
    if (helper != nullptr) {
      pool.free = helper->next;
    } else if ((helper = Helper::start(problem)) != nullptr) {
      ++pool.started;
    } else {
      put_back(chain);
      return problem;
    }
    chain.add(helper);
  }
  chain.last->next = me.helpers;
  me.helpers = chain.first;
  me.num_helpers += chain.count;
  return 0;
}

void return_helpers() {
  Current& me = current;
  if (me.helpers == nullptr) return;
  Helper* last = me.helpers;
  while (last->next != nullptr) last = last->next;
  const PoolLock lock;
  last->next = pool.free;
  pool.free = me.helpers;
  me.helpers = nullptr;
  me.num_helpers = 0;
}

int num_helpers() {
  const PoolLock lock;
  return pool.started;
}

}  // namespace thalweg::threads

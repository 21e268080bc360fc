// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "threads/team.h"

#include <xmmintrin.h>

#include "threads/helpers.h"
#include "threads/spin.h"

namespace thalweg::threads {

constinit thread_local Current current;

Team::Team(Body body, void* data, int size)
    : body_(body),
      data_(data),
      size_(size),
      asked_(current.asked),
      control_(_mm_getcsr()),
      running_(static_cast<uint32_t>(size - 1)) {}

void Team::run_part(int number) {
  Current& me = current;
  const Current before = me;
  me.team = this;
  me.number = number;
  me.size = size_;
  me.asked = asked_;
  if (_mm_getcsr() != control_) _mm_setcsr(control_);
  body_(data_);
  me.team = before.team;
  me.number = before.number;
  me.size = before.size;
  me.asked = before.asked;
}

void Team::part_ended() {
  // The caller may be gone as soon as it sees the number: only the address is used after that.
  FutexWord& word = running_;
  if (word.fetch_sub(1, std::memory_order_acq_rel) == (kSleeps | 1U)) futex_wake_one(word);
}

void Team::wait_for_others(int own) {
  uint32_t running = running_.fetch_sub(static_cast<uint32_t>(own - 1), std::memory_order_acq_rel);
  Spin spin;
  while (((running = running_.load(std::memory_order_acquire)) & ~kSleeps) != 0) {
    if ((running & kSleeps) == 0) {
      if (spin.goes_on()) continue;
      if (!running_.compare_exchange_weak(running, running | kSleeps, std::memory_order_acq_rel)) continue;
      running |= kSleeps;
    }
    futex_wait(running_, running);
  }
}

void Team::barrier() {
  const uint32_t passed = barriers_passed_.load(std::memory_order_acquire);
  if (at_barrier_.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<uint32_t>(size_)) {
    at_barrier_.store(0, std::memory_order_relaxed);
    barriers_passed_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) > 0) futex_wake_all(barriers_passed_);
    return;
  }
  Spin spin;
  while (barriers_passed_.load(std::memory_order_acquire) == passed) {
    if (spin.goes_on()) continue;
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    futex_wait(barriers_passed_, passed);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }
}

namespace {

void run_alone(Team::Body body, void* data) {
  Current& me = current;
  const int number = me.number, size = me.size;
  me.number = 0;
  me.size = 1;
  body(data);
  me.number = number;
  me.size = size;
}

/// Where the system gives no more threads and nothing was reserved. Regions whose parts wait for each other only run
/// inside of reservations.
void run_in_turn(Team& team) {
  for (int number = 0; number < team.size(); ++number) team.run_part(number);
}

void run_with_helpers(Team& team, Helper* helpers) {
  Helper* helper = helpers;
  for (int number = 1; number < team.size(); ++number, helper = helper->next) helper->offer(team, number);
  team.run_part(0);
  int own = 1;
  helper = helpers;
  for (int number = 1; number < team.size(); ++number, helper = helper->next) {
    if (!helper->take_back()) continue;
    team.run_part(number);
    ++own;
  }
  team.wait_for_others(own);
}

}  // namespace

void run_region(Team::Body body, void* data, int threads) {
  Current& me = current;
  if (threads <= 1 || me.team != nullptr) {
    run_alone(body, data);
    return;
  }
  Team team(body, data, threads);
  if (borrow_helpers(threads - 1) == 0) {
    run_with_helpers(team, me.helpers);
  } else {
    run_in_turn(team);
  }
  if (me.reservations == 0) return_helpers();
}

}  // namespace thalweg::threads

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <set>

#include "comm/delivery.h"

namespace thalweg::comm {

/// A message that is coming in, or has come and waits for somebody to ask for it.
struct Arrival {
  int from = 0;
  Route route;
  uint32_t tag = 0;
  size_t size = 0;
  size_t got = 0;
  /// Grows as bytes come: a length alone takes little memory.
  std::vector<std::byte> bytes;
  /// Memory of whoever claims it, if it goes straight there; null otherwise.
  std::byte* target = nullptr;
  std::shared_ptr<Delivery> claimed;
  /// The sender may send as much again: that was said, or is about to be.
  bool granted = false;

  /// Of a communicator that is gone: its bytes are read and forgotten.
  bool discarded = false;

  bool complete() const { return got == size; }
  /// Where the next bytes go.
  std::span<std::byte> room();
};

/// Brings the messages that come together with those who ask for them, in the order of each. It knows neither threads
/// nor links.
class Mailbox {
 public:
  /// The sender of messages that were claimed may send so much more.
  struct Grant {
    int peer = 0;
    Route route;
    uint64_t cost = 0;
  };
  /// What a message takes of a channel's limit: also what it takes to keep one, as empty ones would be without limit.
  static uint64_t cost_of(uint64_t bytes) { return bytes + kKeepingBytes; }

  /// Done at once if the message is there.
  void ask(const std::shared_ptr<Delivery>& receive);
  /// The header of a message has come. Null, with the reason, if it does not fit whoever waits for it.
  std::shared_ptr<Arrival> begin(int from, const Route& route, uint32_t tag, size_t size, std::string& error);
  /// All of it has come.
  void end(const std::shared_ptr<Arrival>& arrival);
  /// The rest of it will not come.
  void drop(const std::shared_ptr<Arrival>& arrival);
  /// Takes back a receive that is not done. What has come of its message is kept for others; its memory is not touched
  /// any more.
  void withdraw(Delivery& receive);
  /// Fails all that wait and for whom `concerns` is true.
  template <typename Predicate>
  void fail(const Failure& failure, const Predicate& concerns) {
    std::vector<std::shared_ptr<Delivery>> failing;
    for (const auto& [key, queue] : asked_) {
      for (const auto& receive : queue) {
        if (concerns(*receive)) failing.push_back(receive);
      }
    }
    for (const auto& [key, queue] : arrivals_) {
      for (const auto& arrival : queue) {
        if (arrival->claimed != nullptr && concerns(*arrival->claimed)) failing.push_back(arrival->claimed);
      }
    }
    for (const auto& receive : failing) {
      withdraw(*receive);
      receive->finish(failure);
    }
  }
  /// Forgets the messages of a communicator that is gone, also those that come later.
  void close(uint64_t context);
  /// How much is kept of a sender's that nobody has asked for, in cost.
  uint64_t kept_of(int from) const;
  std::vector<Grant> take_grants() { return std::move(grants_); }

 private:
  static constexpr uint64_t kKeepingBytes = 256;
  struct Key {
    Route route;
    uint32_t tag = 0;
    auto operator<=>(const Key&) const = default;
  };
  using Arrivals = std::deque<std::shared_ptr<Arrival>>;

  void claim(const std::shared_ptr<Arrival>& arrival, const std::shared_ptr<Delivery>& receive);
  void unclaim(const std::shared_ptr<Arrival>& arrival);
  /// Of a message that is complete and claimed: hands it over.
  void hand_over(const std::shared_ptr<Arrival>& arrival);
  void keep(const Arrival& arrival);
  void release(Arrival& arrival);
  void remove(const std::shared_ptr<Arrival>& arrival);
  static bool fits(const Delivery& receive, size_t size) { return receive.memory == nullptr || receive.size == size; }

  std::map<Key, std::deque<std::shared_ptr<Delivery>>> asked_;
  /// Those that nobody has claimed, and those that have not come completely.
  std::map<Key, Arrivals> arrivals_;
  std::map<int, uint64_t> kept_;
  std::set<uint64_t> closed_;
  std::vector<Grant> grants_;
};

}  // namespace thalweg::comm

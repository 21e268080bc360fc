// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/mailbox.h"

#include <algorithm>
#include <cstring>

namespace thalweg::comm {
namespace {

/// A message up to this size gets its memory at once; a longer one gets more when so much of it has come.
constexpr size_t kFirstBytes = size_t{16} << 20U;
/// What nobody will ever ask for is read in pieces of this size.
constexpr size_t kDiscardedBytes = size_t{64} << 10U;

template <typename Queues, typename Key>
void erase_if_empty(Queues& queues, const Key& key) {
  const auto found = queues.find(key);
  if (found != queues.end() && found->second.empty()) queues.erase(found);
}

std::string misfit(size_t came, size_t expected) {
  return "a message of " + std::to_string(came) + " bytes where " + std::to_string(expected) + " are expected";
}

}  // namespace

std::span<std::byte> Arrival::room() {
  if (discarded) {
    bytes.resize(std::min(size, kDiscardedBytes));
    return std::span(bytes).first(std::min(size - got, bytes.size()));
  }
  if (target != nullptr) return {target + got, size - got};
  if (got == bytes.size() && got < size) bytes.resize(std::min(size, std::max(kFirstBytes, 2 * bytes.size())));
  return std::span(bytes).subspan(got);
}

void Mailbox::keep(const Arrival& arrival) { kept_[arrival.from] += cost_of(arrival.size); }

void Mailbox::release(Arrival& arrival) {
  kept_[arrival.from] -= cost_of(arrival.size);
  if (arrival.granted) return;
  arrival.granted = true;
  grants_.push_back({arrival.from, arrival.route, cost_of(arrival.size)});
}

uint64_t Mailbox::kept_of(int from) const {
  const auto found = kept_.find(from);
  return found != kept_.end() ? found->second : 0;
}

void Mailbox::remove(const std::shared_ptr<Arrival>& arrival) {
  const Key key{arrival->route, arrival->tag};
  std::erase(arrivals_[key], arrival);
  erase_if_empty(arrivals_, key);
}

void Mailbox::claim(const std::shared_ptr<Arrival>& arrival, const std::shared_ptr<Delivery>& receive) {
  release(*arrival);
  arrival->claimed = receive;
  if (arrival->complete()) {
    hand_over(arrival);
  } else if (arrival->got == 0) {
    arrival->target = receive->memory;
  }
}

void Mailbox::unclaim(const std::shared_ptr<Arrival>& arrival) {
  if (arrival->target != nullptr) arrival->bytes.assign(arrival->target, arrival->target + arrival->got);
  arrival->target = nullptr;
  arrival->claimed = nullptr;
  keep(*arrival);
  // Somebody who has asked later takes it in place of the one who does not want it any more.
  const auto waiting = asked_.find({arrival->route, arrival->tag});
  if (waiting == asked_.end()) return;
  for (const std::shared_ptr<Delivery>& receive : waiting->second) {
    if (!receive->may_come_from(arrival->from) || !fits(*receive, arrival->size)) continue;
    const std::shared_ptr<Delivery> next = receive;
    std::erase(waiting->second, next);
    erase_if_empty(asked_, Key{arrival->route, arrival->tag});
    return claim(arrival, next);
  }
}

void Mailbox::hand_over(const std::shared_ptr<Arrival>& arrival) {
  Delivery& receive = *arrival->claimed;
  receive.from = arrival->from;
  if (receive.memory == nullptr) {
    receive.size = arrival->size;
    receive.bytes = std::move(arrival->bytes);
  } else if (arrival->target == nullptr && arrival->size > 0) {
    std::memcpy(receive.memory, arrival->bytes.data(), arrival->size);
  }
  remove(arrival);
  receive.finish({});
}

void Mailbox::ask(const std::shared_ptr<Delivery>& receive) {
  const Key key{receive->route, receive->tag};
  if (const auto found = arrivals_.find(key); found != arrivals_.end()) {
    for (const std::shared_ptr<Arrival>& arrival : found->second) {
      if (arrival->claimed != nullptr || !receive->may_come_from(arrival->from)) continue;
      if (!fits(*receive, arrival->size)) {
        return receive->finish(
            Failure{FailureKind::kProtocol, arrival->from, "it sent " + misfit(arrival->size, receive->size), 0});
      }
      const std::shared_ptr<Arrival> first = arrival;
      return claim(first, receive);
    }
  }
  asked_[key].push_back(receive);
}

std::shared_ptr<Arrival> Mailbox::begin(int from, const Route& route, uint32_t tag, size_t size, std::string& error) {
  auto arrival = std::make_shared<Arrival>();
  arrival->from = from;
  arrival->route = route;
  arrival->tag = tag;
  arrival->size = size;
  if (closed_.count(route.context) > 0) {
    arrival->discarded = true;
    return arrival;
  }
  const Key key{route, tag};
  keep(*arrival);
  arrivals_[key].push_back(arrival);
  const auto waiting = asked_.find(key);
  if (waiting == asked_.end()) return arrival;
  const auto first = std::find_if(waiting->second.begin(), waiting->second.end(),
                                  [&](const auto& receive) { return receive->may_come_from(from); });
  if (first == waiting->second.end()) return arrival;
  const std::shared_ptr<Delivery> receive = *first;
  if (!fits(*receive, size)) {
    error = misfit(size, receive->size);
    drop(arrival);
    return nullptr;
  }
  waiting->second.erase(first);
  erase_if_empty(asked_, key);
  // An empty message is complete as soon as it has begun: `end` hands it over.
  release(*arrival);
  arrival->claimed = receive;
  arrival->target = receive->memory;
  return arrival;
}

void Mailbox::end(const std::shared_ptr<Arrival>& arrival) {
  if (arrival->claimed != nullptr) hand_over(arrival);
}

void Mailbox::drop(const std::shared_ptr<Arrival>& arrival) {
  if (arrival->discarded) return;
  if (arrival->claimed == nullptr) release(*arrival);
  remove(arrival);
}

void Mailbox::withdraw(Delivery& receive) {
  const Key key{receive.route, receive.tag};
  if (const auto found = asked_.find(key); found != asked_.end()) {
    std::erase_if(found->second, [&](const auto& other) { return other.get() == &receive; });
    erase_if_empty(asked_, key);
  }
  const auto found = arrivals_.find(key);
  if (found == arrivals_.end()) return;
  for (const std::shared_ptr<Arrival>& arrival : found->second) {
    if (arrival->claimed.get() != &receive) continue;
    const std::shared_ptr<Arrival> own = arrival;
    return unclaim(own);
  }
}

void Mailbox::close(uint64_t context) {
  closed_.insert(context);
  std::vector<std::shared_ptr<Arrival>> gone;
  for (const auto& [key, queue] : arrivals_) {
    if (key.route.context != context) continue;
    std::copy_if(queue.begin(), queue.end(), std::back_inserter(gone),
                 [](const auto& arrival) { return arrival->claimed == nullptr; });
  }
  for (const auto& arrival : gone) {
    release(*arrival);
    remove(arrival);
    // What it has got so far stays counted; the rest is read over it.
    arrival->discarded = true;
  }
}

}  // namespace thalweg::comm

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Who moves a messenger's data: callers that wait, and otherwise threads of its own.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "comm/messenger_caller.h"

namespace thalweg::comm {
namespace {

/// How long a wait may sleep before it looks around, should a wake-up get lost.
constexpr std::chrono::milliseconds kSlice{100};
/// How long a thread of the messenger rests while a caller drives: so much later than that one it is back.
constexpr std::chrono::milliseconds kRest{1};
/// Of links that tell nobody when they can go on: how often one looks without a break, and the breaks then.
constexpr int kEagerLooks = 100;
constexpr std::chrono::microseconds kShortest{50};
constexpr std::chrono::microseconds kLongest{1000};

}  // namespace

void Messenger::start_threads() {
  if (std::exchange(started_, true)) return;
  std::vector<Wake> kinds;
  for (const Wake kind : {Wake::kSocket, Wake::kDoorbell, Wake::kNothing}) {
    const bool has = std::any_of(streams_.begin(), streams_.end(),
                                 [&](const auto& stream) { return stream && wake_of(*stream->link()) == kind; });
    if (has) kinds.push_back(kind);
  }
  if (kinds.size() == 1) only_ = kinds[0];
  for (const Wake kind : kinds) threads_.emplace_back([this, kind] { run(kind); });
}

bool Messenger::progress(FrameStream& stream) {
  // What has come first: whoever has closed the link may have sent something before.
  const bool got = stream.read();
  const bool wrote = stream.write();
  return got || wrote;
}

bool Messenger::progress(Wake wake) {
  if (!failed_.ok()) return false;
  bool moved = false;
  for (auto& stream : streams_) {
    if (stream && stream->link() != nullptr && wake_of(*stream->link()) == wake) moved |= progress(*stream);
  }
  // Also without anything moved a link may have been found broken.
  settle();
  return moved;
}

void Messenger::begin_watch(Wake wake, Watch& watch) {
  if (wake == Wake::kDoorbell) watch.doorbell = doorbell_->value();
  if (wake != Wake::kSocket) return;
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t drained = ::read(wake_.get(), &count, sizeof count);
}

void Messenger::end_watch(Wake wake, Watch& watch) {
  if (wake != Wake::kSocket) return;
  watch.polled.assign(1, {wake_.get(), POLLIN, 0});
  for (const auto& stream : streams_) {
    if (!stream || !failed_.ok() || stream->link() == nullptr || wake_of(*stream->link()) != wake) continue;
    const int events = (stream->reads() ? POLLIN : 0) | (stream->blocked() ? POLLOUT : 0);
    if (events != 0) watch.polled.push_back({stream->link()->descriptor(), static_cast<short>(events), 0});
  }
}

void Messenger::wait(Wake wake, Watch& watch, std::chrono::nanoseconds longest) const {
  longest = std::min<std::chrono::nanoseconds>(longest, kSlice);
  switch (wake) {
    case Wake::kSocket: {
      const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(longest).count();
      ::poll(watch.polled.data(), watch.polled.size(), static_cast<int>(milliseconds));
      break;
    }
    case Wake::kDoorbell: doorbell_->wait(watch.doorbell, longest); break;
    case Wake::kNothing: {
      if (++watch.looks <= kEagerLooks) return std::this_thread::yield();
      const auto pause = std::min(kLongest, kShortest * (1 + (watch.looks - kEagerLooks) / kEagerLooks));
      std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(longest, pause));
      break;
    }
  }
}

void Messenger::give_way() const {
  // A thread that has just left the mutex has it again before another one wakes up.
  constexpr int kMostYields = 200;
  for (int i = 0; i < kMostYields && callers_.load(std::memory_order_relaxed) > 0; ++i) std::this_thread::yield();
}

void Messenger::run(Wake wake) {
  Watch watch;
  while (!stop_.load()) {
    give_way();
    {
      std::unique_lock<std::mutex> lock(mutex_);
      if (driven_) {
        rest_.wait_for(lock, kRest);
        continue;
      }
      begin_watch(wake, watch);
      if (progress(wake)) {
        watch.looks = 0;
        continue;
      }
      end_watch(wake, watch);
    }
    wait(wake, watch, kSlice);
  }
}

template <typename Done>
void Messenger::drive(Caller& caller, const Done& done, const Deadline& deadline) {
  driven_ = driver_awake_ = true;
  for (Watch watch; !done() && !deadline.expired() && failed_.ok();) {
    begin_watch(*only_, watch);
    const bool moved = progress(*only_);
    if (done()) break;
    end_watch(*only_, watch);
    if (moved) watch.looks = 0;
    driver_awake_ = false;
    caller.let_go();
    if (moved) {
      give_way();
    } else {
      wait(*only_, watch, deadline.remaining());
    }
    caller.hold();
    driver_awake_ = true;
  }
  driven_ = driver_awake_ = false;
  // Another one that waits takes over.
  changed_.notify_all();
}

bool Messenger::wait_any(std::span<const std::shared_ptr<Delivery>> deliveries, const Deadline& deadline) {
  const auto any_done = [&] {
    return std::any_of(deliveries.begin(), deliveries.end(),
                       [](const auto& delivery) { return delivery->done.load(std::memory_order_acquire); });
  };
  if (any_done()) return true;
  Caller caller(*this);
  while (!any_done() && !deadline.expired()) {
    if (only_ && !driven_ && failed_.ok()) {
      drive(caller, any_done, deadline);
    } else {
      caller.wait(std::min<std::chrono::nanoseconds>(kSlice, deadline.remaining()));
    }
  }
  return any_done();
}

void Messenger::wake() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  if (doorbell_ != nullptr) doorbell_->increment();
}

}  // namespace thalweg::comm

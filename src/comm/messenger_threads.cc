// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The threads of a messenger: one for each way in which its links can be waited for.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "comm/messenger.h"
#include "thalweg/error.h"

namespace thalweg::comm {
namespace {

/// How long a wait may sleep before it looks around, should a wake-up get lost.
constexpr std::chrono::milliseconds kSlice{100};
/// Between two looks at links that tell nobody when they can go on.
constexpr std::chrono::microseconds kShortest{20};
constexpr std::chrono::microseconds kLongest{1000};

}  // namespace

void Messenger::start_threads() {
  if (std::exchange(started_, true)) return;
  const auto has = [&](Wake wake) {
    return std::any_of(streams_.begin(), streams_.end(),
                       [&](const auto& stream) { return stream && wake_of(*stream->link()) == wake; });
  };
  if (has(Wake::kSocket)) threads_.emplace_back([this] { run_sockets(); });
  if (has(Wake::kDoorbell)) threads_.emplace_back([this] { run_doorbell(); });
  if (has(Wake::kNothing)) threads_.emplace_back([this] { run_polls(); });
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

void Messenger::give_way() const {
  // A thread that has just left the mutex has it again before another one wakes up.
  constexpr int kMostYields = 200;
  for (int i = 0; i < kMostYields && callers_.load(std::memory_order_relaxed) > 0; ++i) std::this_thread::yield();
}

void Messenger::run_sockets() {
  std::vector<pollfd> polled;
  while (!stop_.load()) {
    give_way();
    polled.assign(1, {wake_.get(), POLLIN, 0});
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (progress(Wake::kSocket)) continue;
      for (const auto& stream : streams_) {
        if (!stream || !failed_.ok() || stream->link() == nullptr || wake_of(*stream->link()) != Wake::kSocket)
          continue;
        const int events = (stream->reads() ? POLLIN : 0) | (stream->blocked() ? POLLOUT : 0);
        if (events != 0) polled.push_back({stream->link()->descriptor(), static_cast<short>(events), 0});
      }
    }
    ::poll(polled.data(), polled.size(), static_cast<int>(kSlice.count()));
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t drained = ::read(wake_.get(), &count, sizeof count);
  }
}

void Messenger::run_doorbell() {
  while (!stop_.load()) {
    give_way();
    const uint32_t seen = doorbell_->value();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (progress(Wake::kDoorbell)) continue;
    }
    doorbell_->wait(seen, kSlice);
  }
}

void Messenger::run_polls() {
  for (std::chrono::microseconds pause = kShortest; !stop_.load();) {
    give_way();
    bool moved = false;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      moved = progress(Wake::kNothing);
    }
    pause = moved ? kShortest : std::min(kLongest, pause * 2);
    std::this_thread::sleep_for(moved ? std::chrono::microseconds(0) : pause);
  }
}

void Messenger::wake_sockets() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

}  // namespace thalweg::comm

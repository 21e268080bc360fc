// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "comm/mpi_link.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "base/deadline.h"

namespace thalweg::comm {
namespace {

/// The space of MPI's tags that is the messenger's alone.
constexpr int kSpace = 2;
/// How long messages are given to be taken back.
constexpr std::chrono::milliseconds kWithdrawal{200};

/// Keeps memory that MPI may yet write to until the process ends.
void leave_with_mpi(std::shared_ptr<void> memory) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::shared_ptr<void>>;
  const std::lock_guard<std::mutex> lock(mutex);
  kept.push_back(std::move(memory));
}

}  // namespace

std::string MpiLink::begin(Buffer& buffer, bool sends, size_t bytes) {
  const ThalwegMpiMessage message{sends ? 1 : 0, peer_, kSpace, 0, buffer.data.data(), static_cast<int>(bytes)};
  std::string error = world_->begin(message, buffer.request);
  buffer.under_way = error.empty();
  return error;
}

std::string MpiLink::look(Buffer& buffer) {
  bool done = false;
  std::string error = world_->test(buffer.request, done, buffer.bytes);
  buffer.under_way = !done && error.empty();
  return error;
}

IoResult MpiLink::write_some(std::span<const iovec> pieces) {
  Buffer& buffer = (*out_)[next_out_];
  if (buffer.under_way) {
    if (std::string error = look(buffer); !error.empty()) return {0, error};
    if (buffer.under_way) return {};
  }
  buffer.data.resize(kBufferBytes);
  size_t filled = 0;
  for (const iovec& piece : pieces) {
    const size_t bytes = std::min(piece.iov_len, kBufferBytes - filled);
    if (bytes > 0) std::memcpy(buffer.data.data() + filled, piece.iov_base, bytes);
    filled += bytes;
  }
  if (filled == 0) return {};
  if (std::string error = begin(buffer, true, filled); !error.empty()) return {0, error};
  next_out_ = (next_out_ + 1) % kBuffers;
  return {filled, {}};
}

IoResult MpiLink::read_some(void* data, size_t bytes) {
  if (!std::exchange(receiving_, true)) {
    for (Buffer& buffer : *in_) {
      buffer.data.resize(kBufferBytes);
      if (std::string error = begin(buffer, false, kBufferBytes); !error.empty()) return {0, error};
    }
  }
  Buffer& buffer = (*in_)[next_in_];
  if (buffer.under_way) {
    if (std::string error = look(buffer); !error.empty()) return {0, error};
    if (buffer.under_way) return {};
    buffer.taken = 0;
  }
  const size_t taken = std::min(bytes, buffer.bytes - buffer.taken);
  if (taken > 0) std::memcpy(data, buffer.data.data() + buffer.taken, taken);
  buffer.taken += taken;
  if (buffer.taken == buffer.bytes) {
    if (std::string error = begin(buffer, false, kBufferBytes); !error.empty()) return {0, error};
    next_in_ = (next_in_ + 1) % kBuffers;
  }
  return {taken, {}};
}

MpiLink::~MpiLink() {
  for (Buffer& buffer : *in_) {
    if (buffer.under_way) world_->cancel(buffer.request);
  }
  const auto busy = [](const Buffer& buffer) { return buffer.under_way; };
  const auto any_busy = [&] {
    return std::any_of(in_->begin(), in_->end(), busy) || std::any_of(out_->begin(), out_->end(), busy);
  };
  for (const Deadline soon(kWithdrawal); any_busy() && !soon.expired();) {
    for (Buffers* buffers : {in_.get(), out_.get()}) {
      for (Buffer& buffer : *buffers) {
        if (buffer.under_way) look(buffer);
      }
    }
    std::this_thread::yield();
  }
  if (!any_busy()) return;
  leave_with_mpi(in_);
  leave_with_mpi(out_);
  world_->give_up();
}

}  // namespace thalweg::comm

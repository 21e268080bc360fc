// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/arrow/block_store.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <list>
#include <map>
#include <mutex>
#include <thread>

#include "data/patience.h"

namespace thalweg::data {
namespace {

struct Entry {
  bool ready = false;
  BlockPtr block;
  std::exception_ptr failure;
  std::thread thread;
};

}  // namespace

class BlockStore::Impl : public std::enable_shared_from_this<BlockStore::Impl> {
 public:
  Impl(Options options, Load load) : options_(std::move(options)), load_(std::move(load)) {
    options_.ahead = std::max<size_t>(options_.ahead, 1);
    options_.patience = std::min(options_.patience, kLongestPatience);
  }

  BlockPtr get(size_t number);
  /// Waits for those on their way; a thread that hangs is left behind.
  void end();

 private:
  using EntryPtr = std::shared_ptr<Entry>;
  void forget_threads_of_the_parent();
  bool start(size_t number);
  void read_ahead(size_t number);
  void load(size_t number, const EntryPtr& entry);
  void touch(size_t number);
  void make_room(size_t keep);
  void drop(size_t number);

  Options options_;
  const Load load_;
  std::mutex mutex_;
  std::condition_variable loaded_;
  std::map<size_t, EntryPtr> blocks_;
  std::list<size_t> recently_used_;  ///< last used first
  pid_t owner_ = ::getpid();
  bool gave_up_ = false;
};

/// A process that was forked has none of the threads that were on their way.
void BlockStore::Impl::forget_threads_of_the_parent() {
  if (owner_ == ::getpid()) return;
  owner_ = ::getpid();
  for (const size_t number : std::list<size_t>(recently_used_)) {
    Entry& entry = *blocks_.at(number);
    // Neither joined nor detached here, where there is no such thread.
    if (entry.thread.joinable()) static_cast<void>(new std::thread(std::move(entry.thread)));
    if (!entry.ready) drop(number);
  }
}

void BlockStore::Impl::load(size_t number, const EntryPtr& entry) {
  BlockPtr block;
  std::exception_ptr failure;
  try {
    block = load_(number);
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  entry->block = std::move(block);
  entry->failure = failure;
  entry->ready = true;
  loaded_.notify_all();
}

/// On a thread. False if there is no such block, it is there or on its way already, or no thread is to be had.
bool BlockStore::Impl::start(size_t number) {
  if (number >= options_.count || blocks_.contains(number)) return false;
  const EntryPtr entry = std::make_shared<Entry>();
  blocks_[number] = entry;
  recently_used_.push_back(number);
  try {
    entry->thread = std::thread([self = shared_from_this(), number, entry] { self->load(number, entry); });
  } catch (...) {  // the caller can do without
    drop(number);
    return false;
  }
  return true;
}

void BlockStore::Impl::touch(size_t number) {
  recently_used_.remove(number);
  recently_used_.push_front(number);
}

void BlockStore::Impl::drop(size_t number) {
  blocks_.erase(number);
  recently_used_.remove(number);
}

/// Drops the blocks that were not used for longest until the rest fits. Those on their way are not counted and stay.
void BlockStore::Impl::make_room(size_t keep) {
  int64_t used = 0;
  for (const size_t number : std::list<size_t>(recently_used_)) {
    Entry& entry = *blocks_.at(number);
    if (!entry.ready) continue;
    if (entry.thread.joinable()) entry.thread.join();  // at its end
    // What failed gets another try next time.
    const int64_t bytes = entry.failure ? options_.memory_bytes + 1 : entry.block->bytes();
    used += bytes;
    if (used > options_.memory_bytes && number != keep && bytes > 0) {
      used -= bytes;
      drop(number);
    }
  }
}

void BlockStore::Impl::read_ahead(size_t number) {
  auto on_their_way = static_cast<size_t>(
      std::count_if(blocks_.begin(), blocks_.end(), [](const auto& block) { return !block.second->ready; }));
  for (size_t next = number + 1; next <= number + options_.ahead && on_their_way < options_.ahead; ++next) {
    if (start(next)) ++on_their_way;
  }
}

BlockPtr BlockStore::Impl::get(size_t number) {
  std::unique_lock<std::mutex> lock(mutex_);
  forget_threads_of_the_parent();
  if (!blocks_.contains(number) && !start(number)) {
    lock.unlock();
    return load_(number);
  }
  touch(number);
  const EntryPtr wanted = blocks_.at(number);
  read_ahead(number);
  make_room(number);
  if (!loaded_.wait_for(lock, options_.patience, [&] { return wanted->ready; })) {
    gave_up_ = true;
    raise(options_.name, ": block ", number, " of ", options_.count, " was not read within ", options_.patience.count(),
          " s");
  }
  if (wanted->failure) std::rethrow_exception(wanted->failure);
  return wanted->block;
}

void BlockStore::Impl::end() {
  std::unique_lock<std::mutex> lock(mutex_);
  forget_threads_of_the_parent();
  const auto all_ready = [&] {
    return std::all_of(blocks_.begin(), blocks_.end(), [](const auto& block) { return block.second->ready; });
  };
  loaded_.wait_for(lock, gave_up_ ? kLastGrace : options_.patience, all_ready);
  for (const auto& [number, entry] : blocks_) {
    if (!entry->thread.joinable()) continue;
    entry->ready ? entry->thread.join() : entry->thread.detach();
  }
}

BlockStore::BlockStore(Options options, Load load)
    : impl_(std::make_shared<Impl>(std::move(options), std::move(load))) {}
BlockStore::~BlockStore() { impl_->end(); }
BlockPtr BlockStore::get(size_t number) { return impl_->get(number); }

}  // namespace thalweg::data

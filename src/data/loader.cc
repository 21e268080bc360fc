// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/loader.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <sstream>
#include <system_error>
#include <thread>

#include "base/threads.h"
#include "data/batch_pool.h"
#include "data/patience.h"
#include "data/rows.h"

namespace thalweg::data {
namespace {

/// Of reasons that a line of text tells.
constexpr size_t kReasonsTold = 3;

/// A batch while it is being read. Threads take its tasks in order; each covers `grain` samples.
struct Slot {
  LoadedBatch loaded;
  std::vector<int64_t> indices;
  size_t grain = 1;
  size_t next_task = 0;
  size_t tasks_done = 0;
  /// What reading a sample threw, by row.
  std::vector<std::pair<int64_t, std::exception_ptr>> failures;

  size_t num_tasks() const { return (indices.size() + grain - 1) / grain; }
  bool claimed() const { return next_task == num_tasks(); }
  bool complete() const { return tasks_done == num_tasks(); }
};

std::string text_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// Closes the gaps that rows which could not be read leave. `bad` is in ascending order.
Tensor without_rows(const Tensor& tensor, const std::vector<int64_t>& bad) {
  int64_t kept = bad.front();
  for (size_t i = 0; i < bad.size(); ++i) {
    const int64_t begin = bad[i] + 1;
    const int64_t end = i + 1 < bad.size() ? bad[i + 1] : tensor.shape()[0];
    std::memmove(row_of(tensor, kept), row_of(tensor, begin), static_cast<size_t>(end - begin) * row_bytes(tensor));
    kept += end - begin;
  }
  return tensor.rows(0, kept);
}

/// How often a thread that waits asks whether it still should.
constexpr std::chrono::milliseconds kLookEvery{100};

using Clock = std::chrono::steady_clock;

/// What the threads of a loader work on. Each of them owns it with the others: one that was left behind may come back
/// when the loader is gone.
class Reading {
 public:
  Reading(const Dataset& dataset, const BatchSampler& sampler, const LoaderOptions& options)
      : dataset_(dataset),
        sampler_(sampler),
        options_(options),
        depth_(static_cast<size_t>(std::max(options.depth, 1))),
        pool_(std::make_shared<BatchPool>(dataset, sampler.options().batch_size, depth_ + 1)),
        remaining_(options.max_batches) {}

  /// What a thread does from its beginning to its end.
  void work();
  void add_thread(int count);
  bool next(LoadedBatch& result);
  SkippedSamples skipped() const;
  /// Has all threads end. False if one has not after as long as it may take.
  bool end();

 private:
  void read_slots();
  void open_slot();
  std::shared_ptr<Slot> claim(std::unique_lock<std::mutex>& lock, size_t& task);
  void read_task(Slot& slot, size_t task);
  bool is_stopped() const;
  void leave_out_bad(Slot& slot);
  void wait_for_batch(std::unique_lock<std::mutex>& lock);

  const Dataset& dataset_;
  BatchSampler sampler_;
  const LoaderOptions options_;
  const size_t depth_;
  std::shared_ptr<BatchPool> pool_;

  mutable std::mutex mutex_;
  std::condition_variable completed_, wanted_, ended_;
  /// In the sampler's order; at most depth_. Slots are shared with the threads that read them.
  std::deque<std::shared_ptr<Slot>> slots_;
  int64_t remaining_;
  int running_ = 0;
  bool stop_ = false;
  bool gave_up_ = false;
  /// What ended a thread before its time.
  std::exception_ptr failure_;
  SkippedSamples skipped_;
  /// Since the last batch of which something could be read.
  int64_t bad_in_a_row_ = 0;
};

void Reading::open_slot() {
  auto slot = std::make_shared<Slot>();
  slot->loaded.position = sampler_.position();
  slot->loaded.whole_samples = sampler_.batch_samples();
  const std::span<const int64_t> indices = sampler_.next();
  slot->indices.assign(indices.begin(), indices.end());
  slot->loaded.last_of_epoch = sampler_.position().epoch != slot->loaded.position.epoch;
  slot->grain = dataset_.is_costly() ? 1 : std::max<size_t>(1, slot->indices.size());
  if (remaining_ > 0) --remaining_;
  slots_.push_back(slot);
  if (slot->indices.empty()) {  // no task will complete it
    completed_.notify_all();
    return;
  }
  try {
    slot->loaded.batch = pool_->take(static_cast<int64_t>(slot->indices.size()));
  } catch (...) {  // out of memory, or types that make no batch: the consumer gets to know
    slot->failures.emplace_back(0, std::current_exception());
    slot->next_task = slot->tasks_done = slot->num_tasks();
    remaining_ = 0;
    completed_.notify_all();
  }
}

/// Waits for a task; null when the loader ends.
std::shared_ptr<Slot> Reading::claim(std::unique_lock<std::mutex>& lock, size_t& task) {
  const auto unclaimed = [](const std::shared_ptr<Slot>& slot) { return !slot->claimed(); };
  while (!stop_) {
    const auto found = std::find_if(slots_.begin(), slots_.end(), unclaimed);
    if (found != slots_.end()) {
      task = (*found)->next_task++;
      return *found;
    }
    if (remaining_ == 0) return nullptr;
    if (slots_.size() < depth_) {
      open_slot();
    } else {
      wanted_.wait(lock);
    }
  }
  return nullptr;
}

void Reading::read_task(Slot& slot, size_t task) {
  const size_t begin = task * slot.grain;
  const std::span<const int64_t> indices(slot.indices.data() + begin,
                                         std::min(slot.grain, slot.indices.size() - begin));
  const Draw draw{sampler_.options().seed, slot.loaded.position.epoch};
  const auto read = [&](size_t first, size_t count) {
    try {
      if (count == slot.indices.size()) {
        if (std::optional<Batch> lent = dataset_.lend(indices)) {
          slot.loaded.batch = std::move(*lent);
          return true;
        }
      }
      dataset_.read(indices.subspan(first, count), draw, slot.loaded.batch, static_cast<int64_t>(begin + first));
      return true;
    } catch (...) {
      if (count > 1 && options_.bad == BadSample::kSkip) return false;
      const std::lock_guard<std::mutex> lock(mutex_);
      slot.failures.emplace_back(static_cast<int64_t>(begin + first), std::current_exception());
      return true;
    }
  };
  if (read(0, indices.size())) return;
  // One by one, to know which are bad. Nobody keeps the dataset for a loader that has ended.
  for (size_t i = 0; i < indices.size() && !is_stopped(); ++i) read(i, 1);
}

bool Reading::is_stopped() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stop_;
}

void Reading::leave_out_bad(Slot& slot) {
  const bool all_bad = !slot.indices.empty() && slot.failures.size() == slot.indices.size();
  bad_in_a_row_ = all_bad ? bad_in_a_row_ + static_cast<int64_t>(slot.indices.size()) : 0;
  if (slot.failures.empty()) return;
  std::sort(slot.failures.begin(), slot.failures.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const bool has_batch = !slot.loaded.batch.inputs.empty();
  if (options_.bad == BadSample::kFail || !has_batch || bad_in_a_row_ >= dataset_.size()) return;
  std::vector<int64_t> bad;
  for (const auto& [row, failure] : slot.failures) {
    bad.push_back(row);
    slot.loaded.skipped.add({1, {text_of(failure)}});
  }
  skipped_.add(slot.loaded.skipped);
  for (auto row = bad.rbegin(); row != bad.rend(); ++row) slot.indices.erase(slot.indices.begin() + *row);
  for (Tensor& tensor : slot.loaded.batch.inputs) tensor = without_rows(tensor, bad);
  for (Tensor& tensor : slot.loaded.batch.targets) tensor = without_rows(tensor, bad);
  slot.failures.clear();
}

void Reading::read_slots() {
  std::unique_lock<std::mutex> lock(mutex_);
  size_t task = 0;
  while (const std::shared_ptr<Slot> slot = claim(lock, task)) {
    lock.unlock();
    read_task(*slot, task);
    lock.lock();
    if (++slot->tasks_done < slot->num_tasks()) continue;
    if (slot == slots_.front()) completed_.notify_all();
  }
}

void Reading::work() {
  std::exception_ptr failure;
  try {
    read_slots();
  } catch (...) {  // not for want of a sample, but out of memory or the like
    failure = std::current_exception();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (failure) failure_ = failure;
  --running_;
  completed_.notify_all();
  ended_.notify_all();
}

void Reading::add_thread(int count) {
  const std::lock_guard<std::mutex> lock(mutex_);
  running_ += count;
}

bool Reading::end() {
  std::unique_lock<std::mutex> lock(mutex_);
  stop_ = true;
  wanted_.notify_all();
  const std::chrono::seconds grace = gave_up_ ? kLastGrace : std::min(options_.patience, kLongestPatience);
  return ended_.wait_for(lock, grace, [&] { return running_ == 0; });
}

/// Until the next batch is there, there will be none, or a thread has failed.
void Reading::wait_for_batch(std::unique_lock<std::mutex>& lock) {
  const auto ready = [&] { return failure_ || (slots_.empty() ? remaining_ == 0 : slots_.front()->complete()); };
  const auto begin = Clock::now();
  std::chrono::seconds patience = std::min(options_.patience, kLongestPatience);
  auto deadline = begin + patience;
  bool stopping = false;
  for (;;) {
    const bool asks = options_.stopping && !stopping;
    if (completed_.wait_until(lock, asks ? std::min(deadline, Clock::now() + kLookEvery) : deadline, ready)) return;
    if (Clock::now() >= deadline) break;
    if (!asks) continue;
    lock.unlock();
    stopping = options_.stopping();
    lock.lock();
    if (stopping) deadline = std::min(deadline, Clock::now() + options_.stop_patience);
  }
  gave_up_ = true;
  const SamplerPosition at = slots_.empty() ? sampler_.position() : slots_.front()->loaded.position;
  std::ostringstream text;
  text << "no batch within " << (stopping ? options_.stop_patience : patience).count() << " s"
       << (stopping ? " after a stop was asked for" : "") << ": reading epoch " << at.epoch << ", batch " << at.batch
       << " has not ended";
  if (stopping) throw WaitStopped(text.str());
  raise(text.str());
}

bool Reading::next(LoadedBatch& result) {
  const auto begin = Clock::now();
  result.batch = {};  // gives its memory back before the next one is asked for
  std::unique_lock<std::mutex> lock(mutex_);
  wait_for_batch(lock);
  const bool complete = !slots_.empty() && slots_.front()->complete();
  if (failure_ && !complete) std::rethrow_exception(failure_);
  if (slots_.empty()) return false;
  Slot& slot = *slots_.front();
  leave_out_bad(slot);
  if (!slot.failures.empty()) {
    remaining_ = 0;
    std::rethrow_exception(slot.failures.front().second);
  }
  result = std::move(slot.loaded);
  result.samples = std::move(slot.indices);
  slots_.pop_front();
  wanted_.notify_all();
  result.wait_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return true;
}

SkippedSamples Reading::skipped() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return skipped_;
}

}  // namespace

void SkippedSamples::add(const SkippedSamples& others) {
  count += others.count;
  for (const std::string& reason : others.reasons) {
    const bool known = std::find(reasons.begin(), reasons.end(), reason) != reasons.end();
    if (!known && reasons.size() < kMostReasons) reasons.push_back(reason);
  }
}

std::string to_string(const SkippedSamples& skipped) {
  if (skipped.count == 0) return "";
  std::string text = std::to_string(skipped.count) + " samples that could not be read were left out";
  for (size_t i = 0; i < std::min(kReasonsTold, skipped.reasons.size()); ++i) {
    text += (i == 0 ? ": " : "; ") + skipped.reasons[i];
  }
  return text + (skipped.reasons.size() > kReasonsTold ? "; ..." : "");
}

class Loader::Impl {
 public:
  Impl(const Dataset& dataset, const BatchSampler& sampler, const LoaderOptions& options);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  bool next(LoadedBatch& result) { return reading_->next(result); }
  SkippedSamples skipped() const { return reading_->skipped(); }

 private:
  void start(int threads);

  const std::shared_ptr<Reading> reading_;
  std::vector<std::thread> threads_;
};

Loader::Impl::Impl(const Dataset& dataset, const BatchSampler& sampler, const LoaderOptions& options)
    : reading_(std::make_shared<Reading>(dataset, sampler, options)) {
  const int automatic = dataset.is_costly() ? available_processors() : 1;
  start(options.threads > 0 ? options.threads : automatic);
}

/// Fewer if the system gives no more, as under a limit of processes.
void Loader::Impl::start(int threads) {
  threads_.reserve(static_cast<size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    reading_->add_thread(1);
    try {
      threads_.emplace_back([reading = reading_] { reading->work(); });
    } catch (const std::system_error& error) {
      reading_->add_thread(-1);
      TW_REQUIRE(i > 0, "no thread can be started to read data: ", error.what(),
                 "; look at the limits of processes (ulimit -u, pids.max of the control group)");
      return;
    }
  }
}

Loader::Impl::~Impl() {
  const bool ended = reading_->end();
  for (std::thread& thread : threads_) ended ? thread.join() : thread.detach();
}

Loader::Loader(const Dataset& dataset, const BatchSampler& sampler, const LoaderOptions& options)
    : impl_(std::make_unique<Impl>(dataset, sampler, options)) {}
Loader::~Loader() = default;
bool Loader::next(LoadedBatch& result) { return impl_->next(result); }
SkippedSamples Loader::skipped() const { return impl_->skipped(); }

}  // namespace thalweg::data

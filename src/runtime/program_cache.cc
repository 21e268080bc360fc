// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/program_cache.h"

#include <algorithm>

namespace thalweg {

AlignedBuffer ArenaPool::take(size_t bytes) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto largest = std::max_element(idle_.begin(), idle_.end(),
                                          [](const auto& a, const auto& b) { return a.bytes() < b.bytes(); });
    if (largest != idle_.end()) {
      AlignedBuffer memory = std::move(*largest);
      idle_.erase(largest);
      if (memory.bytes() >= bytes) return memory;
      // It goes before the larger one comes.
    }
  }
  return AlignedBuffer(bytes);
}

void ArenaPool::give_back(AlignedBuffer memory) {
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(std::move(memory));
}

std::unique_ptr<Session> SessionPool::idle_session() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (idle_.empty()) return nullptr;
  std::unique_ptr<Session> session = std::move(idle_.back());
  idle_.pop_back();
  return session;
}

std::unique_ptr<Session> SessionPool::take() {
  std::unique_ptr<Session> session = idle_session();
  if (arenas_ == nullptr) return session != nullptr ? std::move(session) : std::make_unique<Session>(program_);
  if (session == nullptr) session = std::make_unique<Session>(program_, nullptr);
  session->lend(arenas_->take(program_->arena_bytes()));
  return session;
}

void SessionPool::give_back(std::unique_ptr<Session> session) {
  if (arenas_ != nullptr) arenas_->give_back(session->take_back());
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(std::move(session));
}

std::vector<Tensor> SessionPool::run(std::span<const Tensor> inputs) {
  std::unique_ptr<Session> session = take();
  std::vector<Tensor> outputs = session->run(inputs);
  give_back(std::move(session));
  return outputs;
}

std::shared_ptr<SessionPool> ProgramCache::find(const std::vector<TensorType>& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.key == key; });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return found->pool;
}

void ProgramCache::insert(const std::vector<TensorType>& key, std::shared_ptr<SessionPool> pool) {
  const std::lock_guard<std::mutex> lock(mutex_);
  entries_.push_front({key, std::move(pool)});
  while (entries_.size() > capacity_) entries_.pop_back();
}

void ProgramCache::reset(size_t capacity) {
  const std::lock_guard<std::mutex> lock(mutex_);
  entries_.clear();
  capacity_ = capacity;
}

size_t ProgramCache::capacity() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return capacity_;
}

size_t ProgramCache::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return entries_.size();
}

std::vector<TensorType> types_of(std::span<const Tensor> tensors) {
  std::vector<TensorType> types;
  for (const Tensor& tensor : tensors) types.push_back(tensor.type());
  return types;
}

}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/batch_pool.h"

namespace thalweg::data {

Batch BatchPool::take(int64_t rows) {
  Batch storage;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!unused_.empty()) {
      storage = std::move(unused_.back());
      unused_.pop_back();
    }
  }
  if (storage.inputs.empty() && storage.targets.empty()) storage = dataset_.allocate(max_rows_);
  const std::shared_ptr<Batch> lease(new Batch(std::move(storage)), [pool = shared_from_this()](Batch* batch) {
    pool->give_back(std::move(*batch));
    delete batch;
  });
  const auto borrowed = [&](const std::vector<Tensor>& tensors) {
    std::vector<Tensor> result;
    for (const Tensor& tensor : tensors) {
      Shape shape = tensor.shape();
      shape[0] = rows;
      result.push_back(Tensor::borrow(tensor.dtype(), std::move(shape), tensor.raw(), lease));
    }
    return result;
  };
  return {borrowed(lease->inputs), borrowed(lease->targets)};
}

void BatchPool::give_back(Batch storage) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (unused_.size() < keep_) unused_.push_back(std::move(storage));
}

}  // namespace thalweg::data

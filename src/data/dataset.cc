// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "thalweg/data.h"

namespace thalweg::data {

int64_t Batch::size() const {
  if (!inputs.empty()) return inputs.front().shape()[0];
  return targets.empty() ? 0 : targets.front().shape()[0];
}

namespace {

std::vector<TensorType> batch_types(const std::vector<Tensor>& tensors) {
  std::vector<TensorType> types;
  for (const Tensor& tensor : tensors) {
    types.push_back(tensor.type());
    types.back().shape[0] = kFree;
  }
  return types;
}

Tensor gather_rows(const Tensor& source, std::span<const int64_t> indices) {
  Shape shape = source.shape();
  const int64_t rows = shape[0];
  shape[0] = static_cast<int64_t>(indices.size());
  Tensor result(source.dtype(), shape);
  const size_t bytes = rows == 0 ? 0 : source.num_bytes() / static_cast<size_t>(rows);
  for (size_t i = 0; i < indices.size(); ++i) {
    std::memcpy(static_cast<char*>(result.raw()) + i * bytes,
                static_cast<const char*>(source.raw()) + static_cast<size_t>(indices[i]) * bytes, bytes);
  }
  return result;
}

}  // namespace

TensorDataset::TensorDataset(std::vector<Tensor> inputs, std::vector<Tensor> targets)
    : inputs_(std::move(inputs)), targets_(std::move(targets)) {
  TW_REQUIRE(!inputs_.empty(), "a dataset needs at least one input tensor");
  const auto check = [&](const std::vector<Tensor>& tensors, const char* what) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      TW_REQUIRE(tensors[i].defined() && tensors[i].shape().rank() > 0, "dataset: ", what, ' ', i,
                 " has no rows: it needs at least one dimension");
      TW_REQUIRE(tensors[i].shape()[0] == size_, "dataset: ", what, ' ', i, " has ", tensors[i].shape()[0],
                 " rows, but input 0 has ", size_);
    }
  };
  if (inputs_[0].defined() && inputs_[0].shape().rank() > 0) size_ = inputs_[0].shape()[0];
  check(inputs_, "input");
  check(targets_, "target");
}

std::vector<TensorType> TensorDataset::input_types() const { return batch_types(inputs_); }
std::vector<TensorType> TensorDataset::target_types() const { return batch_types(targets_); }

Batch TensorDataset::fetch(std::span<const int64_t> indices) const {
  for (const int64_t index : indices) {
    TW_REQUIRE(index >= 0 && index < size_, "dataset of ", size_, " samples has no sample ", index);
  }
  Batch batch;
  for (const Tensor& tensor : inputs_) batch.inputs.push_back(gather_rows(tensor, indices));
  for (const Tensor& tensor : targets_) batch.targets.push_back(gather_rows(tensor, indices));
  return batch;
}

}  // namespace thalweg::data

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/dataset.h"

#include <cstring>

#include "data/rows.h"

namespace thalweg::data {

int64_t Batch::size() const {
  if (!inputs.empty()) return inputs.front().shape()[0];
  return targets.empty() ? 0 : targets.front().shape()[0];
}

Batch Dataset::allocate(int64_t rows) const {
  const auto make = [&](std::vector<TensorType> types, std::vector<Tensor>& tensors) {
    for (TensorType& type : types) {
      TW_REQUIRE(type.shape.rank() > 0, "the dataset gives a value without a batch dimension");
      type.shape[0] = rows;
      tensors.emplace_back(type);
    }
  };
  Batch batch;
  make(input_types(), batch.inputs);
  make(target_types(), batch.targets);
  return batch;
}

Batch Dataset::fetch(std::span<const int64_t> indices, const Draw& draw) const {
  Batch batch = allocate(static_cast<int64_t>(indices.size()));
  read(indices, draw, batch, 0);
  return batch;
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

void copy_rows(const Tensor& source, std::span<const int64_t> indices, const Tensor& target, int64_t row) {
  const size_t bytes = row_bytes(source);
  auto* out = static_cast<char*>(target.raw()) + static_cast<size_t>(row) * bytes;
  const auto* in = static_cast<const char*>(source.raw());
  for (const int64_t index : indices) {
    std::memcpy(out, in + static_cast<size_t>(index) * bytes, bytes);
    out += bytes;
  }
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

void TensorDataset::read(std::span<const int64_t> indices, const Draw& /*draw*/, const Batch& batch,
                         int64_t row) const {
  for (const int64_t index : indices) {
    TW_REQUIRE(index >= 0 && index < size_, "dataset of ", size_, " samples has no sample ", index);
  }
  for (size_t i = 0; i < inputs_.size(); ++i) copy_rows(inputs_[i], indices, batch.inputs[i], row);
  for (size_t i = 0; i < targets_.size(); ++i) copy_rows(targets_[i], indices, batch.targets[i], row);
}

}  // namespace thalweg::data

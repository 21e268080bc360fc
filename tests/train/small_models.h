// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "support/op_check.h"
#include "thalweg/data.h"
#include "thalweg/model.h"
#include "thalweg/ops.h"
#include "thalweg/train.h"

namespace thalweg::testing {

/// y = x * weight + bias, elementwise over `features`, batch size free. With `steps`, a state that counts the rows
/// seen.
inline std::unique_ptr<Graph> affine_graph(int64_t features, bool with_state = false) {
  auto graph = std::make_unique<Graph>("affine");
  Value* x = graph->input("x", {DType::kF32, {kFree, features}});
  Value* weight = graph->parameter("layer.weight", random_tensor(DType::kF32, {features}, 1));
  Value* bias = graph->parameter("layer.bias", random_tensor(DType::kF32, {features}, 2));
  Value* y = ops::add(ops::mul(x, weight), bias);
  graph->mark_output(y, "y");
  if (with_state) {
    Value* seen = graph->state("layer.seen", Tensor::zeros(DType::kF32, {features}));
    graph->assign(seen, ops::add(seen, ops::reduce_sum(x, {0})));
  }
  return graph;
}

inline Loss squared_error() {
  return [](Value* output, Value* target) {
    Value* difference = ops::sub(output, target);
    return ops::reduce_mean(ops::mul(difference, difference));
  };
}

/// Targets that an affine model can meet: y = x * (i + 1) - 0.5 for feature i.
inline data::TensorDataset affine_data(int64_t rows, int64_t features, uint64_t seed = 3) {
  Tensor x = random_tensor(DType::kF32, {rows, features}, seed);
  Tensor y(DType::kF32, {rows, features});
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    y.data<float>()[i] = x.data<float>()[i] * static_cast<float>(i % features + 1) - 0.5F;
  }
  return data::TensorDataset({x}, {y});
}

/// A convolution to 20 channels (which kernels pad), dropout, the mean over each channel, two outputs.
inline std::unique_ptr<Graph> conv_graph() {
  auto graph = std::make_unique<Graph>("conv");
  const auto parameter = [&](const std::string& name, const Shape& shape, uint64_t seed) {
    return graph->parameter(name, random_tensor(DType::kF32, shape, seed, -0.5, 0.5));
  };
  Value* x = graph->input("x", {DType::kF32, {kFree, 3, 8, 8}});
  ops::ConvOptions same;
  same.pads = {1, 1};
  Value* h = ops::conv(x, parameter("conv.weight", {20, 3, 3, 3}, 11), parameter("conv.bias", {20}, 12), same);
  h = ops::conv(ops::relu(h), parameter("conv2.weight", {20, 20, 3, 3}, 13), nullptr, {});
  h = ops::dropout(ops::relu(h), 0.2, 5);
  Value* mean = ops::reduce_mean(h, {2, 3});
  Value* seen = graph->state("conv.seen", Tensor::zeros(DType::kF32, {20}));
  graph->assign(seen, ops::add(ops::mul(seen, 0.9), ops::reduce_mean(mean, {0})));
  graph->mark_output(ops::linear(mean, parameter("head.weight", {2, 20}, 14), parameter("head.bias", {2}, 15)));
  return graph;
}

inline data::TensorDataset conv_data(int64_t rows) {
  Tensor x = random_tensor(DType::kF32, {rows, 3, 8, 8}, 21);
  Tensor y(DType::kF32, {rows, 2});
  for (int64_t i = 0; i < rows; ++i) {
    y.data<float>()[2 * i] = x.data<float>()[i * 192];
    y.data<float>()[2 * i + 1] = x.data<float>()[i * 192 + 5];
  }
  return data::TensorDataset({x}, {y});
}

inline std::vector<float> floats(const Tensor& tensor) {
  const float* data = tensor.data<float>();
  return {data, data + tensor.num_elements()};
}

inline data::Batch rows_of(const data::Dataset& dataset, int64_t begin, int64_t end) {
  std::vector<int64_t> indices;
  for (int64_t i = begin; i < end; ++i) indices.push_back(i);
  return dataset.fetch(indices);
}

}  // namespace thalweg::testing

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Models written as ONNX and read again give the same answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "support/error_text.h"
#include "support/op_check.h"
#include "support/temporary_directory.h"
#include "thalweg/model.h"
#include "thalweg/ops.h"
#include "train/zoo_cases.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;
using namespace thalweg::testing;

class ZooExport : public ::testing::TestWithParam<const char*> {};

TEST_P(ZooExport, SameAnswersAfterARoundTrip) {
  const TemporaryDirectory directory;
  Model model(zoo::build(GetParam(), small_zoo_options(GetParam())));
  const std::string path = directory / "model.onnx";
  model.save(path, {{"classes", "a,b"}});
  const Model read = Model::load(path);
  EXPECT_EQ(read.metadata().at("classes"), "a,b");
  ASSERT_EQ(read.inputs().size(), model.graph().inputs().size());
  for (size_t i = 0; i < read.inputs().size(); ++i) {
    EXPECT_EQ(read.inputs()[i].name, model.graph().inputs()[i]->name());
    EXPECT_EQ(read.inputs()[i].shape, model.graph().inputs()[i]->shape());
  }
  for (const int64_t batch : {1, 3}) {
    const std::vector<Tensor> inputs = zoo_inputs(model.graph(), batch);
    const std::vector<Tensor> expected = model.predict(inputs), actual = read.predict(inputs);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) expect_close(actual[i], expected[i], 1e-5, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(All, ZooExport,
                         ::testing::Values("lenet", "alexnet", "vgg11", "inception_v1", "resnet18", "resnet50",
                                           "mobilenet_v2", "lstm_text", "ncf", "convlstm", "transformer"),
                         [](const auto& test) { return std::string(test.param); });

TEST(OnnxExport, RepeatedRunsWriteTheSameBytes) {
  const TemporaryDirectory directory;
  Model model(zoo::lenet());
  model.save(directory / "a.onnx");
  model.save(directory / "b.onnx");
  EXPECT_EQ(read_bytes(directory / "a.onnx"), read_bytes(directory / "b.onnx"));
}

TEST(OnnxExport, ListsAllThatOnnxDoesNotHave) {
  const TemporaryDirectory directory;
  auto graph = std::make_unique<Graph>("odd");
  Value* x = graph->input("x", {DType::kI32, {4}});
  graph->mark_output(graph->add("shift_left", {x, x})->output(), "up");
  graph->mark_output(graph->add("shift_right", {x, x})->output(), "down");
  const Model model(std::move(graph));
  EXPECT_THAT(error_text([&] { model.save(directory / "odd.onnx"); }),
              ::testing::AllOf(HasSubstr("shift_left"), HasSubstr("shift_right")));
  EXPECT_EQ(directory.num_files(), 0U);
}

/// What a graph of one f32 input computes, and what it does after it was written and read, for several batches.
void expect_same_when_read(const Shape& shape, const std::vector<Tensor>& inputs,
                           const std::function<std::vector<Value*>(Value*)>& build) {
  const TemporaryDirectory directory;
  auto graph = std::make_unique<Graph>("written");
  for (Value* output : build(graph->input("x", {DType::kF32, shape}))) graph->mark_output(output);
  const Model model(std::move(graph));
  model.save(directory / "m.onnx");
  const Model read = Model::load(directory / "m.onnx");
  for (const Tensor& input : inputs) {
    const std::vector<Tensor> expected = model.predict({input}), actual = read.predict({input});
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      expect_close(actual[i], expected[i], 1e-6, "output " + std::to_string(i));
    }
  }
}

TEST(OnnxExport, WhatTakesSeveralOfOnnxsOperators) {
  const std::vector<float> numbers{-7.5F, -1e-6F, 0, 1e-7F, 0.3F, 80};
  expect_same_when_read({kFree}, {Tensor::from<float>({6}, numbers), Tensor::from<float>({2}, {0.5F, 2})},
                        [](Value* x) {
                          Value* three = ops::scalar_like(x, 3);
                          Value* whole = ops::cast(x, DType::kI32);
                          return std::vector<Value*>{ops::modulo(x, three),
                                                     ops::modulo(x, ops::neg(three)),
                                                     ops::modulo(x, three, true),
                                                     ops::modulo(whole, ops::scalar_like(whole, -3)),
                                                     ops::modulo(whole, ops::scalar_like(whole, -3), true),
                                                     x->graph().add("log1p", {ops::abs(x)})->output(),
                                                     x->graph().add("expm1", {x})->output(),
                                                     ops::element_count(x)};
                        });
}

TEST(OnnxExport, WindowsOfDifferentSizes) {
  for (const Shape& shape : {Shape{kFree, 2, 5}, Shape{kFree, 2, 5, 7}, Shape{kFree, 2, 3, 5, 4}}) {
    std::vector<Tensor> inputs;
    for (int64_t batch : {1, 3}) {
      std::vector<int64_t> extents = shape.dims();
      extents[0] = batch;
      inputs.push_back(random_tensor(DType::kF32, Shape(extents), 7));
    }
    expect_same_when_read(shape, inputs, [&](Value* x) {
      const std::vector<int64_t> narrow(shape.rank() - 2, 3), wide(shape.rank() - 2, 8);
      return std::vector<Value*>{ops::adaptive_avg_pool(x, narrow), ops::adaptive_max_pool(x, narrow),
                                 ops::adaptive_avg_pool(x, wide), ops::adaptive_max_pool(x, wide)};
    });
  }
}

TEST(OnnxExport, PicturesReadThroughGrids) {
  expect_same_when_read({kFree, 2, 4, 4}, {random_tensor(DType::kF32, {3, 2, 4, 4}, 7)}, [](Value* x) {
    Value* grid = ops::mul(ops::reshape(x, {-1, 4, 4, 2}), ops::scalar_like(x, 1.3));
    return std::vector<Value*>{ops::grid_sample(x, grid, {"linear", "reflection", true}),
                               ops::grid_sample(x, grid, {"nearest", "border", false})};
  });
}

TEST(OnnxExport, OutputsThatNoNodeMakes) {
  const TemporaryDirectory directory;
  auto graph = std::make_unique<Graph>("passes");
  Value* x = graph->input("x", {DType::kF32, {2}});
  graph->mark_output(x);
  graph->mark_output(ops::relu(x), "y");
  const Model model(std::move(graph));
  model.save(directory / "m.onnx");
  const auto results = Model::load(directory / "m.onnx").predict({Tensor::from<float>({2}, {-1, 2})});
  EXPECT_EQ(results.at(0).data<float>()[0], -1.0F);
  EXPECT_EQ(results.at(1).data<float>()[0], 0.0F);
}

}  // namespace
}  // namespace thalweg

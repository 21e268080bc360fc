// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

struct Case {
  const char* name;
  Value* (*build)(Value*, int64_t, const std::string&);
};

class Softmax : public ::testing::TestWithParam<Case> {
 protected:
  static BuildOp build(int64_t axis) {
    return [axis](const std::vector<Value*>& v) { return std::vector<Value*>{GetParam().build(v[0], axis, "")}; };
  }
};

TEST_P(Softmax, GradientsMatchCentralDifferences) {
  check_gradients({{{3, 5}, -3, 3}}, build(-1));
  check_gradients({{{2, 4, 3}, -3, 3}}, build(1));
  check_gradients({{{4, 3}, -3, 3}}, build(0));
}

TEST_P(Softmax, FastPathMatchesReference) {
  for (const auto& [shape, axis] : std::vector<std::pair<Shape, int64_t>>{{{7, 17}, -1},
                                                                          {{2, 3, 128}, 2},
                                                                          {{1, 1}, 1},
                                                                          {{3, 1000}, 1},
                                                                          {{2, 5, 70}, 1},
                                                                          {{2, 3, 9, 11}, 1},
                                                                          {{40, 3}, 0}}) {
    check_fast_path({{shape, -30, 30}}, build(axis), "native", 1e-5);
    check_fast_path({{shape, -3, 3}}, build(axis), "native", 1e-2, true, DType::kBF16);
  }
  check_fast_path({{{0, 4}}}, build(-1));
}

INSTANTIATE_TEST_SUITE_P(All, Softmax,
                         ::testing::Values(Case{"softmax", ops::softmax}, Case{"log_softmax", ops::log_softmax}),
                         [](const auto& test) { return test.param.name; });

BuildOp cross_entropy(int64_t ignore_index, double smoothing) {
  return [=](const std::vector<Value*>& v) {
    return std::vector<Value*>{ops::softmax_cross_entropy(v[0], v[1], ignore_index, smoothing)};
  };
}

std::vector<Operand> operands(const Shape& logits, DType label_type = DType::kI64) {
  std::vector<int64_t> dims = logits.dims();
  dims.erase(dims.begin() + 1);
  return {{logits, -4, 4}, {Shape(dims), 0, static_cast<double>(logits[1]), label_type}};
}

TEST(SoftmaxCrossEntropy, GradientsMatchCentralDifferences) {
  check_gradients(operands({5, 4}), cross_entropy(-100, 0));
  check_gradients(operands({5, 4}, DType::kI32), cross_entropy(2, 0.1));
  check_gradients(operands({2, 3, 2, 2}), cross_entropy(0, 0.2));
}

TEST(SoftmaxCrossEntropy, FastPathMatchesReference) {
  for (const Shape& shape : {Shape{5, 10}, Shape{1, 1}, Shape{33, 1000}, Shape{2, 17, 9, 9}, Shape{3, 3, 100}}) {
    for (const double smoothing : {0.0, 0.1}) {
      check_fast_path(operands(shape), cross_entropy(1, smoothing), "native", 1e-5);
      check_fast_path(operands(shape, DType::kI32), cross_entropy(-1, smoothing), "native", 1e-2, true, DType::kBF16);
    }
  }
  check_fast_path(operands({0, 10}), cross_entropy(-100, 0));
}

TEST(SoftmaxCrossEntropy, LossIsTheLogarithmOfTheProbability) {
  Graph graph;
  Value* logits = graph.input("logits", {DType::kF32, {2, 3}});
  Value* labels = graph.input("labels", {DType::kI64, {2}});
  graph.mark_output(ops::softmax_cross_entropy(logits, labels));
  const Tensor x = Tensor::from<float>({2, 3}, {100, 0, 0, 1, 2, 3});
  const Tensor loss = run_graph(graph, {x, Tensor::from<int64_t>({2}, {1, 2})})[0];
  EXPECT_FLOAT_EQ(loss.data<float>()[0], 100);
  EXPECT_NEAR(loss.data<float>()[1], std::log(1 + std::exp(-1.0) + std::exp(-2.0)), 1e-6);
}

void expect_error(const std::function<void()>& action, const std::string& part) {
  try {
    action();
    FAIL() << "no error with " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(SoftmaxCrossEntropy, LabelOutOfRangeNamesTheRow) {
  Graph graph;
  Value* logits = graph.input("logits", {DType::kF32, {6, 10}});
  Value* labels = graph.input("labels", {DType::kI64, {6}});
  graph.mark_output(ops::softmax_cross_entropy(logits, labels, -100, 0, "loss"));
  const Tensor x = random_tensor(DType::kF32, {6, 10}, 1);
  const std::string message = "softmax_cross_entropy 'loss': label 12 in row 5 is outside of [0,10)";
  const Tensor bad = Tensor::from<int64_t>({6}, {0, -100, 2, 3, 4, 12});
  expect_error([&] { run_graph(graph, {x, bad}); }, message);
  CompileOptions reference;
  reference.only_kernels = {"reference"};
  expect_error([&] { run_graph(graph, {x, bad}, reference); }, message);
}

TEST(SoftmaxErrors, NameWhatDoesNotFit) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {kFree, 10}});
  Value* flat = graph.input("flat", {DType::kF32, {4}});
  Value* labels = graph.input("labels", {DType::kI64, {kFree, 2}});
  Value* good = graph.input("good", {DType::kI64, {kFree}});
  expect_error([&] { ops::softmax(x, 2); }, "softmax");
  expect_error([&] { ops::softmax(good, 0); }, "softmax");
  expect_error([&] { ops::softmax_cross_entropy(flat, good); }, "[N, C, ...]");
  expect_error([&] { ops::softmax_cross_entropy(x, labels); }, "without dimension 1");
  expect_error([&] { ops::softmax_cross_entropy(x, x); }, "class numbers");
  expect_error([&] { ops::softmax_cross_entropy(x, good, -100, 1.5); }, "label_smoothing must be between 0 and 1");
}

}  // namespace
}  // namespace thalweg::testing

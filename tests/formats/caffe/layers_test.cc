// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Layers that OpenCV does not have or has otherwise, by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "formats/caffe/weights_bytes.h"
#include "support/error_text.h"
#include "support/op_check.h"
#include "thalweg/caffe.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

std::string input_of(const std::vector<int64_t>& dims, const std::string& name = "data") {
  std::string text = "layer { name: '" + name + "' type: 'Input' top: '" + name + "' input_param { shape {";
  for (const int64_t dim : dims) text += " dim: " + std::to_string(dim);
  return text + " } } }\n";
}

/// 1, 2, 3, ...
Tensor counted(const Shape& shape) {
  Tensor tensor(DType::kF32, shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.data<float>()[i] = static_cast<float>(i + 1);
  return tensor;
}

/// What a network of one layer makes of 1, 2, 3, ...
Tensor run_layer(const std::vector<int64_t>& dims, const std::string& layer, const std::string& weights = "") {
  const std::string text = input_of(dims) + "layer { name: 'l' bottom: 'data' top: 'y' " + layer + " }";
  return run_graph(*caffe::load_bytes(text, weights), {counted(Shape(dims))})[0];
}

void expect_layer(const std::vector<int64_t>& dims, const std::string& layer, const Tensor& expected,
                  const std::string& weights = "") {
  expect_close(run_layer(dims, layer, weights), expected, 1e-6, layer);
}

Tensor of(const Shape& shape, const std::vector<float>& values) { return Tensor::from<float>(shape, values); }

std::string layer_failure(const std::vector<int64_t>& dims, const std::string& layer) {
  return error_text([&] { run_layer(dims, layer); });
}

/// Sizes are rounded up; a mean counts padding, but not what lies beyond it.
TEST(CaffeLayers, PoolUpToTheLastElement) {
  const auto pool = [](const std::string& more) {
    return "type: 'Pooling' pooling_param { kernel_size: 2 stride: 2 " + more + " }";
  };
  expect_layer({1, 1, 3, 3}, pool(""), of({1, 1, 2, 2}, {5, 6, 8, 9}));
  expect_layer({1, 1, 3, 3}, pool("pool: AVE"), of({1, 1, 2, 2}, {3, 4.5F, 7.5F, 9}));
  expect_layer({1, 1, 3, 3}, pool("round_mode: FLOOR"), of({1, 1, 1, 1}, {5}));
  expect_layer({1, 1, 1, 3}, pool("pool: AVE pad: 1"), of({1, 1, 1, 2}, {0.25F, 1.25F}));
  expect_layer({1, 1, 3, 3}, "type: 'Pooling' pooling_param { global_pooling: true pool: AVE }", of({1, 1, 1, 1}, {5}));
  EXPECT_THAT(layer_failure({1, 1, 3, 3}, pool("pool: STOCHASTIC")), HasSubstr("stochastic pooling is not supported"));
  EXPECT_THAT(layer_failure({1, 1, 5, 5}, "type: 'Pooling' pooling_param { kernel_size: 1 stride: 3 }"),
              HasSubstr("leave a window outside"));
}

TEST(CaffeLayers, NormalizeAcrossAndWithinChannels) {
  const float across = std::sqrt(2.0F + 3.0F / 3.0F * (1 + 4));
  expect_layer({1, 2, 1, 1}, "type: 'LRN' lrn_param { local_size: 3 alpha: 3 beta: 0.5 k: 2 }",
               of({1, 2, 1, 1}, {1 / across, 2 / across}));
  // One window of 3 x 3 around each of 4 elements of a 2 x 2 picture: the same sum of squares, 30, over 9.
  const float divisor = std::pow(1.0F + 0.5F * 30.0F / 9.0F, 0.75F);
  expect_layer({1, 1, 2, 2},
               "type: 'LRN' lrn_param { local_size: 3 alpha: 0.5 beta: 0.75 norm_region: WITHIN_CHANNEL }",
               of({1, 1, 2, 2}, {1 / divisor, 2 / divisor, 3 / divisor, 4 / divisor}));
}

TEST(CaffeLayers, Reduce) {
  const auto reduce = [](const std::string& operation, int axis) {
    return "type: 'Reduction' reduction_param { operation: " + operation + " axis: " + std::to_string(axis) +
           " coeff: 2 }";
  };
  expect_layer({2, 3}, reduce("SUM", 1), of({2}, {12, 30}));
  expect_layer({2, 3}, reduce("MEAN", 1), of({2}, {4, 10}));
  expect_layer({2, 3}, reduce("SUMSQ", -1), of({2}, {28, 154}));
  expect_layer({2, 3}, reduce("ASUM", 0), of({}, {42}));
  expect_layer({2, 3}, "type: 'ArgMax'", of({2, 1, 1}, {2, 2}));
  expect_layer({1, 3}, "type: 'ArgMax' argmax_param { out_max_val: true top_k: 2 }", of({1, 2, 2}, {2, 1, 3, 2}));
  expect_layer({1, 2, 2}, "type: 'ArgMax' argmax_param { axis: 1 }", of({1, 1, 2}, {1, 1}));
}

TEST(CaffeLayers, MoveElements) {
  expect_layer({1, 2, 2}, "type: 'Tile' tile_param { axis: 2 tiles: 2 }", of({1, 2, 4}, {1, 2, 1, 2, 3, 4, 3, 4}));
  expect_layer({1, 4}, "type: 'Reshape' reshape_param { shape { dim: 2 dim: 2 } axis: 1 }",
               of({1, 2, 2}, {1, 2, 3, 4}));
  expect_layer({2, 2}, "type: 'Reshape' reshape_param { shape { dim: 1 } axis: 1 num_axes: 0 }",
               of({2, 1, 2}, {1, 2, 3, 4}));
  expect_layer({1, 2, 1, 2}, "type: 'Flatten' flatten_param { axis: 1 end_axis: 2 }", of({1, 2, 2}, {1, 2, 3, 4}));
  expect_layer({1, 2, 2}, "type: 'Permute' permute_param { order: 0 order: 2 }", of({1, 2, 2}, {1, 3, 2, 4}));
  expect_layer({1, 1, 2, 2}, "type: 'SPP' spp_param { pyramid_height: 2 }", of({1, 5}, {4, 1, 2, 3, 4}));
  EXPECT_THAT(layer_failure({1, 4}, "type: 'Reshape' reshape_param { shape { dim: 1 } axis: 5 }"),
              HasSubstr("axis is 5"));
  EXPECT_THAT(layer_failure({1, 4}, "type: 'Permute' permute_param { order: 0 order: 0 }"),
              HasSubstr("may stand there once"));
}

TEST(CaffeLayers, WorkElementByElement) {
  expect_layer({1, 3}, "type: 'Threshold' threshold_param { threshold: 2 }", of({1, 3}, {0, 0, 1}));
  expect_layer({1, 3}, "type: 'Clip' clip_param { min: 1.5 max: 2.5 }", of({1, 3}, {1.5F, 2, 2.5F}));
  expect_layer({1, 3}, "type: 'Log' log_param { base: 2 scale: 2 shift: 0 }", of({1, 3}, {1, 2, std::log2(6.0F)}));
  expect_layer({1, 3}, "type: 'Power' power_param { power: 3 scale: 2 shift: -1 }", of({1, 3}, {1, 27, 125}));
}

TEST(CaffeLayers, ScaleAndShiftAlongAnAxis) {
  const std::string two = caffe_weights({{"l", {{{2}, {10, 100}}, {{2}, {0.5F, -1}}}}});
  expect_layer({1, 2, 2}, "type: 'Scale' scale_param { bias_term: true }", of({1, 2, 2}, {10.5F, 20.5F, 299, 399}),
               two);
  expect_layer({1, 2, 2}, "type: 'Scale' scale_param { axis: -1 bias_term: true }",
               of({1, 2, 2}, {10.5F, 199, 30.5F, 399}), two);
  expect_layer({1, 2, 2}, "type: 'Bias' bias_param { axis: 1 num_axes: -1 }", of({1, 2, 2}, {2, 2, 3, 3}),
               caffe_weights({{"l", {{{2, 2}, {1, 0, 0, -1}}}}}));
  expect_layer({1, 2, 2}, "type: 'Scale' scale_param { num_axes: 0 }", of({1, 2, 2}, {3, 6, 9, 12}),
               caffe_weights({{"l", {{{}, {3}}}}}));
}

TEST(CaffeLayers, MultiplyRows) {
  const std::string weights = caffe_weights({{"l", {{{2, 3}, {1, 0, 0, 0, 1, 1}}, {{2}, {0.5F, 0}}}}});
  expect_layer({2, 3}, "type: 'InnerProduct' inner_product_param { num_output: 2 }", of({2, 2}, {1.5F, 5, 4.5F, 11}),
               weights);
  expect_layer({1, 2, 3}, "type: 'InnerProduct' inner_product_param { num_output: 2 axis: 2 }",
               of({1, 2, 2}, {1.5F, 5, 4.5F, 11}), weights);
  expect_layer({2, 3}, "type: 'InnerProduct' inner_product_param { num_output: 2 transpose: true }",
               of({2, 2}, {1.5F, 5, 4.5F, 11}),
               caffe_weights({{"l", {{{3, 2}, {1, 0, 0, 1, 0, 1}}, {{2}, {0.5F, 0}}}}}));
  expect_layer({1, 2}, "type: 'Embed' embed_param { num_output: 1 input_dim: 3 bias_term: false }",
               of({1, 2, 1}, {20, 30}), caffe_weights({{"l", {{{3, 1}, {10, 20, 30}}}}}));
}

/// Sums of statistics are divided by what they were weighted with; the layer behind becomes part of the norm.
TEST(CaffeLayers, BatchNormIsJoinedByItsScale) {
  const std::string text =
      input_of({1, 2, 2}) +
      "layer { name: 'n' type: 'BatchNorm' bottom: 'data' top: 'data2' batch_norm_param { eps: 0 } }\n"
      "layer { name: 's' type: 'Scale' bottom: 'data2' top: 'data2' scale_param { bias_term: true } }\n";
  const std::string weights =
      caffe_weights({{"n", {{{2}, {2, 4}}, {{2}, {8, 2}}, {{1}, {2}}}}, {"s", {{{2}, {3, 5}}, {{2}, {1, -1}}}}});
  const auto graph = caffe::load_bytes(text, weights);
  EXPECT_EQ(graph->nodes().size(), 1U) << graph->to_string();
  expect_close(run_graph(*graph, {counted({1, 2, 2})})[0], of({1, 2, 2}, {1, 2.5F, 4, 9}), 1e-6, "joined");
  EXPECT_TRUE(graph->find("s.weight")->trainable());
  EXPECT_FALSE(graph->find("n.running_mean")->trainable());

  const std::string read_twice = text + "layer { name: 'e' type: 'Eltwise' bottom: 'data2' bottom: 'data' top: 'e' }";
  EXPECT_EQ(caffe::load_bytes(read_twice, weights)->nodes().size(), 2U)
      << "what is read in place is not what is read later";

  const auto learning = caffe::load_bytes(text, weights, {.batch_norms = onnx::BatchNormTraining::kLearned});
  EXPECT_EQ(learning->states().size(), 2U);
  EXPECT_EQ(learning->assignments().size(), 2U);
  EXPECT_EQ(learning->find("n.running_var")->data().data<float>()[0], 4.0F);
}

}  // namespace
}  // namespace thalweg::testing

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/specialize.h"
#include "support/error_text.h"
#include "support/op_check.h"
#include "thalweg/nn.h"
#include "thalweg/passes.h"
#include "thalweg/zoo.h"

namespace thalweg::testing {
namespace {

/// A layer under test: its input, what it must give and which parameters (in this order) it must have.
struct LayerCase {
  const char* name;
  nn::Module layer;
  Shape input;
  Shape output;
  std::vector<std::pair<std::string, Shape>> parameters;
};

void PrintTo(const LayerCase& test, std::ostream* out) { *out << test.name; }  // NOLINT: GoogleTest's name

std::vector<LayerCase> conv_cases() {
  return {
      {"conv1d",
       nn::Conv1d(3, 8, 5, {.padding = 2}),
       {kFree, 3, 20},
       {kFree, 8, 20},
       {{"weight", {8, 3, 5}}, {"bias", {8}}}},
      {"conv2d",
       nn::Conv2d(4, 6, {3, 5}, {.stride = 2, .padding = {1, 2}, .groups = 2, .bias = false}),
       {kFree, 4, 9, 9},
       {kFree, 6, 5, 5},
       {{"weight", {6, 2, 3, 5}}}},
      {"conv3d",
       nn::Conv3d(1, 2, 3),
       {kFree, 1, 5, 6, 7},
       {kFree, 2, 3, 4, 5},
       {{"weight", {2, 1, 3, 3, 3}}, {"bias", {2}}}},
      {"conv_transpose1d",
       nn::ConvTranspose1d(3, 2, 4, {.stride = 2, .padding = 1}),
       {kFree, 3, 10},
       {kFree, 2, 20},
       {{"weight", {3, 2, 4}}, {"bias", {2}}}},
      {"conv_transpose2d",
       nn::ConvTranspose2d(2, 4, 3, {.stride = 2, .padding = 1, .output_padding = 1}),
       {kFree, 2, 5, 5},
       {kFree, 4, 10, 10},
       {{"weight", {2, 4, 3, 3}}, {"bias", {4}}}},
      {"separable",
       nn::SeparableConv2d(3, 8, 3, {.padding = 1}, 2),
       {kFree, 3, 6, 6},
       {kFree, 8, 6, 6},
       {{"depthwise.weight", {6, 1, 3, 3}}, {"pointwise.weight", {8, 6, 1, 1}}, {"pointwise.bias", {8}}}},
      {"max_pool", nn::MaxPool2d(3, {.stride = 2, .ceil_mode = true}), {kFree, 2, 8, 8}, {kFree, 2, 4, 4}, {}},
      {"max_pool1d", nn::MaxPool1d(2), {kFree, 2, 8}, {kFree, 2, 4}, {}},
      {"avg_pool", nn::AvgPool2d(2), {kFree, 2, 8, 8}, {kFree, 2, 4, 4}, {}},
      {"adaptive", nn::AdaptiveAvgPool2d({3, 2}), {kFree, 2, 8, 8}, {kFree, 2, 3, 2}, {}},
      {"global", nn::AdaptiveMaxPool2d(1), {kFree, 2, 8, 8}, {kFree, 2, 1, 1}, {}},
      {"upsample", nn::Upsample({.scale_factor = 2, .mode = "bilinear"}), {kFree, 2, 4, 5}, {kFree, 2, 8, 10}, {}},
      {"pad", nn::Pad({1, 2, 3, 4}), {kFree, 2, 4, 5}, {kFree, 2, 11, 8}, {}},
      {"lrn", nn::LocalResponseNorm(5), {kFree, 7, 4, 4}, {kFree, 7, 4, 4}, {}},
  };
}

std::vector<LayerCase> dense_cases() {
  using nn::Sequential;
  return {
      {"linear", nn::Linear(5, 3), {kFree, 7, 5}, {kFree, 7, 3}, {{"weight", {3, 5}}, {"bias", {3}}}},
      {"highway",
       nn::Highway(4),
       {kFree, 4},
       {kFree, 4},
       {{"transform.weight", {4, 4}}, {"transform.bias", {4}}, {"gate.weight", {4, 4}}, {"gate.bias", {4}}}},
      {"maxout", nn::Maxout(4, 3, 2), {kFree, 4}, {kFree, 3}, {{"weight", {6, 4}}, {"bias", {6}}}},
      {"prelu", nn::PReLU{3}, {kFree, 3, 4}, {kFree, 3, 4}, {{"weight", {3}}}},
      {"glu", nn::GLU{1}, {kFree, 6, 2}, {kFree, 3, 2}, {}},
      {"flatten", nn::Flatten(), {kFree, 3, 4, 5}, {kFree, 60}, {}},
      {"reshape", nn::Reshape{{0, 2, -1}}, {kFree, 12}, {kFree, 2, 6}, {}},
      {"layer_norm", nn::LayerNorm(4), {kFree, 3, 4}, {kFree, 3, 4}, {{"weight", {4}}, {"bias", {4}}}},
      {"group_norm", nn::GroupNorm(2, 6), {kFree, 6, 3}, {kFree, 6, 3}, {{"weight", {6}}, {"bias", {6}}}},
      {"instance_norm", nn::InstanceNorm2d(3), {kFree, 3, 4, 4}, {kFree, 3, 4, 4}, {}},
      {"batch_norm", nn::BatchNorm1d(3), {kFree, 3}, {kFree, 3}, {{"weight", {3}}, {"bias", {3}}}},
      {"time_distributed",
       nn::TimeDistributed(nn::Linear(4, 2)),
       {kFree, 3, 4},
       {kFree, 3, 2},
       {{"weight", {2, 4}}, {"bias", {2}}}},
      {"sequential",
       Sequential{nn::Linear(4, 2), nn::ReLU(), {"head", nn::Linear(2, 1)}},
       {kFree, 4},
       {kFree, 1},
       {{"0.weight", {2, 4}}, {"0.bias", {2}}, {"head.weight", {1, 2}}, {"head.bias", {1}}}},
      {"concat",
       nn::Concat({nn::Linear(4, 2), nn::Identity()}),
       {kFree, 4},
       {kFree, 6},
       {{"0.weight", {2, 4}}, {"0.bias", {2}}}},
      {"sum",
       nn::Sum{nn::Linear(4, 4), nn::Identity()},
       {kFree, 4},
       {kFree, 4},
       {{"0.weight", {4, 4}}, {"0.bias", {4}}}},
      {"residual", nn::Residual(nn::Linear(4, 4)), {kFree, 4}, {kFree, 4}, {{"weight", {4, 4}}, {"bias", {4}}}},
      {"spatial_dropout", nn::Dropout2d(0.3), {kFree, 3, 4, 4}, {kFree, 3, 4, 4}, {}},
      {"dropout", nn::Dropout(0.3), {kFree, 3}, {kFree, 3}, {}},
      {"gaussian_noise", nn::GaussianNoise(0.3), {kFree, 3}, {kFree, 3}, {}},
      {"gaussian_dropout", nn::GaussianDropout(0.3), {kFree, 3}, {kFree, 3}, {}},
  };
}

std::vector<LayerCase> sequence_cases() {
  return {
      {"lstm",
       nn::LSTM(3, 4, {.num_layers = 2, .batch_first = true}),
       {kFree, 5, 3},
       {kFree, 5, 4},
       {{"weight_ih_l0", {16, 3}},
        {"weight_hh_l0", {16, 4}},
        {"bias_ih_l0", {16}},
        {"bias_hh_l0", {16}},
        {"weight_ih_l1", {16, 4}},
        {"weight_hh_l1", {16, 4}},
        {"bias_ih_l1", {16}},
        {"bias_hh_l1", {16}}}},
      {"gru",
       nn::GRU(3, 4, {.bias = false, .bidirectional = true}),
       {5, kFree, 3},
       {5, kFree, 8},
       {{"weight_ih_l0", {12, 3}},
        {"weight_hh_l0", {12, 4}},
        {"weight_ih_l0_reverse", {12, 3}},
        {"weight_hh_l0_reverse", {12, 4}}}},
      {"rnn",
       nn::RNN(3, 4, {.bias = false, .batch_first = true, .nonlinearity = "relu"}),
       {kFree, 5, 3},
       {kFree, 5, 4},
       {{"weight_ih_l0", {4, 3}}, {"weight_hh_l0", {4, 4}}}},
      {"conv_lstm",
       nn::ConvLSTM(2, 3, 3),
       {kFree, 4, 2, 5, 5},
       {kFree, 4, 3, 5, 5},
       {{"conv.weight", {12, 5, 3, 3}}, {"conv.bias", {12}}}},
      {"attention",
       nn::MultiheadAttention(8, 2, {.batch_first = true}),
       {kFree, 5, 8},
       {kFree, 5, 8},
       {{"in_proj_weight", {24, 8}}, {"in_proj_bias", {24}}, {"out_proj.weight", {8, 8}}, {"out_proj.bias", {8}}}},
      {"encoder",
       nn::TransformerEncoder(nn::TransformerEncoderLayer(8, 2, {.dim_feedforward = 6, .dropout = 0.1}), 1, true),
       {5, kFree, 8},
       {5, kFree, 8},
       {{"layers.0.self_attn.in_proj_weight", {24, 8}},
        {"layers.0.self_attn.in_proj_bias", {24}},
        {"layers.0.self_attn.out_proj.weight", {8, 8}},
        {"layers.0.self_attn.out_proj.bias", {8}},
        {"layers.0.norm1.weight", {8}},
        {"layers.0.norm1.bias", {8}},
        {"layers.0.linear1.weight", {6, 8}},
        {"layers.0.linear1.bias", {6}},
        {"layers.0.linear2.weight", {8, 6}},
        {"layers.0.linear2.bias", {8}},
        {"layers.0.norm2.weight", {8}},
        {"layers.0.norm2.bias", {8}},
        {"norm.weight", {8}},
        {"norm.bias", {8}}}},
  };
}

class LayerShapes : public ::testing::TestWithParam<LayerCase> {};

TEST_P(LayerShapes, AndParameters) {
  const LayerCase& test = GetParam();
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, test.input});
  Value* y = test.layer.forward(nn::Scope(graph, 3).sub("here"), x);
  EXPECT_EQ(y->shape(), test.output);
  ASSERT_EQ(graph.parameters().size(), test.parameters.size());
  for (size_t i = 0; i < test.parameters.size(); ++i) {
    EXPECT_EQ(graph.parameters()[i]->name(), "here." + test.parameters[i].first);
    EXPECT_EQ(graph.parameters()[i]->shape(), test.parameters[i].second) << test.parameters[i].first;
  }
}

TEST_P(LayerShapes, RunsAndInfers) {
  const LayerCase& test = GetParam();
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, test.input});
  graph.mark_output(test.layer.forward(nn::Scope(graph, 3), x));
  Shape input = test.input;
  Shape output = test.output;
  for (int i = 0; i < input.rank(); ++i) {
    if (input[i] == kFree) input[i] = 2;
    if (i < output.rank() && output[i] == kFree) output[i] = 2;
  }
  const Tensor sample = random_tensor(DType::kF32, input, 1);
  const Tensor result = run_graph(graph, {sample})[0];
  EXPECT_EQ(result.shape(), output);
  for (int64_t i = 0; i < result.num_elements(); ++i) ASSERT_TRUE(std::isfinite(result.data<float>()[i]));
  to_inference(graph);
  EXPECT_EQ(run_graph(graph, {sample})[0].shape(), output);
}

const auto kNameOf = [](const auto& test) { return test.param.name; };
INSTANTIATE_TEST_SUITE_P(Convolution, LayerShapes, ::testing::ValuesIn(conv_cases()), kNameOf);
INSTANTIATE_TEST_SUITE_P(Dense, LayerShapes, ::testing::ValuesIn(dense_cases()), kNameOf);
INSTANTIATE_TEST_SUITE_P(Sequence, LayerShapes, ::testing::ValuesIn(sequence_cases()), kNameOf);

TEST(Layers, BilinearMatchesItsDefinition) {
  Graph graph;
  Value* a = graph.input("a", {DType::kF32, {kFree, 3}});
  Value* b = graph.input("b", {DType::kF32, {kFree, 4}});
  graph.mark_output(nn::Bilinear(3, 4, 2).forward(nn::Scope(graph), a, b));
  const Tensor x = random_tensor(DType::kF32, {5, 3}, 1);
  const Tensor y = random_tensor(DType::kF32, {5, 4}, 2);
  const Tensor weight = graph.find("weight")->data().clone();
  const Tensor bias = graph.find("bias")->data().clone();
  Tensor expected(DType::kF32, {5, 2});
  for (int64_t n = 0; n < 5; ++n) {
    for (int64_t o = 0; o < 2; ++o) {
      float sum = bias.data<float>()[o];
      for (int64_t i = 0; i < 3; ++i) {
        for (int64_t j = 0; j < 4; ++j) {
          sum += x.data<float>()[n * 3 + i] * weight.data<float>()[(o * 3 + i) * 4 + j] * y.data<float>()[n * 4 + j];
        }
      }
      expected.data<float>()[n * 2 + o] = sum;
    }
  }
  expect_close(run_graph(graph, {x, y})[0], expected, 1e-5, "bilinear");
}

TEST(Layers, BatchNormTracksUnbiasedStatistics) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {kFree, 1, 2}});
  graph.mark_output(nn::BatchNorm1d(1).forward(nn::Scope(graph).sub("bn"), x));
  auto fixed = specialize(graph, {{DType::kF32, {2, 1, 2}}});
  auto variables = std::make_shared<Variables>(*fixed);
  CompileOptions options;
  options.training = true;
  Session session(Program::compile(std::move(fixed), variables, options));
  session.run(std::vector<Tensor>{Tensor::from<float>({2, 1, 2}, {1.0F, 2.0F, 3.0F, 6.0F})});
  // Mean 3; sum of squared differences 14, over n - 1 = 3.
  EXPECT_NEAR(variables->read(variables->index("bn.running_mean")).item(), 0.3, 1e-6);
  EXPECT_NEAR(variables->read(variables->index("bn.running_var")).item(), 0.9 + 0.1 * 14.0 / 3.0, 1e-6);
}

TEST(Layers, ErrorsNameTheLayer) {
  const auto message = [](const nn::Module& layer, const Shape& shape) -> std::string {
    Graph graph;
    Value* x = graph.input("x", {DType::kF32, shape});
    try {
      layer.forward(nn::Scope(graph).sub("features"), x);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message(nn::Sequential{nn::Conv2d(3, 4, 3)}, {kFree, 1, 8, 8}),
            "features.0: Conv: input has 1 channel, weight expects 3");
  EXPECT_NE(message(nn::Sequential{nn::ReLU(), nn::Linear(3, 4)}, {kFree, 5}).find("features.1: Linear: input"),
            std::string::npos);
  EXPECT_NE(message(nn::Conv2d(3, 4, {1, 2, 3}), {kFree, 3, 8, 8}).find("kernel_size needs"), std::string::npos);
  EXPECT_NE(message(nn::Dropout(1.5), {kFree, 3}).find("features: Dropout: probability 1.5"), std::string::npos);
  EXPECT_NE(message(nn::MultiheadAttention(6, 4), {2, 3, 6}).find("cannot be cut into 4 heads"), std::string::npos);
}

TEST(Layers, SharingMustBeAskedFor) {
  Graph graph;
  const nn::Scope scope = nn::Scope(graph).sub("fc");
  const nn::Linear layer(4, 4);
  Value* x = graph.input("x", {DType::kF32, {kFree, 4}});
  x = layer.forward(scope, x);
  EXPECT_THROW(layer.forward(scope, x), Error);
  layer.forward(scope.reuse(), x);
  EXPECT_EQ(graph.parameters().size(), 2U);
}

TEST(Zoo, UnknownNamesListTheNearest) {
  const auto message = [](const std::string& name, const Attributes& options) -> std::string {
    try {
      zoo::build(name, options);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(message("resnet5", {}).find("resnet50"), std::string::npos);
  EXPECT_NE(message("lenet", {{"clases", int64_t{3}}}).find("'clases'; did you mean classes"), std::string::npos);
}

TEST(Layers, SizesMustBePositive) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 3}});
  for (const int64_t size : {0, -1}) {
    EXPECT_NE(error_text([&] {
                nn::Linear(3, size).forward(nn::Scope(graph).sub("head"), x);
              }).find("parameter 'head.weight' would have a dimension of size " + std::to_string(size)),
              std::string::npos);
  }
}

TEST(Zoo, ParameterCountsAreTorchvisions) {
  const auto count = [](const std::string& name, const Attributes& options = {}) {
    int64_t sum = 0;
    const auto graph = zoo::build(name, options);
    for (const Value* parameter : graph->parameters()) sum += parameter->shape().num_elements();
    return sum;
  };
  EXPECT_EQ(count("resnet18"), 11689512);
  EXPECT_EQ(count("resnet50"), 25557032);
  EXPECT_EQ(count("mobilenet_v2"), 3504872);
  EXPECT_EQ(count("alexnet"), 61100840);
  EXPECT_EQ(count("lenet"), 61706);
}

}  // namespace
}  // namespace thalweg::testing

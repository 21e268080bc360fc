// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// What convolutions and linear layers do with their sums before they store them, in every kernel.
#include <gtest/gtest.h>

#include <sstream>
#include <tuple>

#include "ops/fused_activation.h"
#include "runtime/kernels/simd/channel_blocks.h"
#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

constexpr double kTolerance = 2e-5;

CompileOptions only(const std::string& candidate) {
  CompileOptions options;
  options.only_kernels = {candidate};
  return options;
}

Attributes with_activation(const std::string& activation, std::vector<int64_t> pads) {
  Attributes attrs{{"pads", std::move(pads)}};
  if (activation != "slope") attrs.set("activation", activation);
  if (activation == "leaky_relu" || activation == "elu") attrs.set("alpha", 0.3);
  if (activation == "clip" || activation == "hard_sigmoid") {
    attrs.set("alpha", activation == "clip" ? -0.5 : 0.2);
    attrs.set("beta", 0.6);
  }
  return attrs;
}

std::vector<std::string> endings() {
  std::vector<std::string> all = fusible_activations();
  all.emplace_back("slope");
  return all;
}

/// The activation with a scale and a shift after it, as well as without.
std::vector<Attributes> with_affine(const Attributes& attrs) {
  std::vector<Attributes> all{attrs, attrs, attrs};
  all[1].set("scale", 0.7);
  all[2].set("scale", -1.5);
  all[2].set("shift", 0.25);
  return all;
}

std::vector<std::pair<std::string, Attributes>> all_endings(const std::vector<int64_t>& pads) {
  std::vector<std::pair<std::string, Attributes>> all;
  for (const std::string& ending : endings()) {
    for (const Attributes& attrs : with_affine(with_activation(ending, pads))) all.emplace_back(ending, attrs);
  }
  return all;
}

/// The candidates that compute a 3x3 convolution, and the number of its output channels.
using Case = std::tuple<const char*, int64_t>;

class ConvActivation : public ::testing::TestWithParam<Case> {};

TEST_P(ConvActivation, FollowsBiasAndResidual) {
  const auto [candidate, channels] = GetParam();
  const bool ours = std::string(candidate) != "onednn";
  if (ours && simd::best_isa() == simd::Isa::kBaseline) GTEST_SKIP() << "needs AVX2";
  for (const bool residual : {false, true}) {
    for (const auto& [ending, attrs] : all_endings({1, 1})) {
      SCOPED_TRACE(ending + " " + attrs.to_string() + (residual ? " after a residual" : ""));
      Graph graph;
      std::vector<Value*> inputs{graph.input("x", {DType::kF32, {2, 20, 9, 7}}),
                                 graph.input("w", {DType::kF32, {channels, 20, 3, 3}}),
                                 graph.input("b", {DType::kF32, {channels}})};
      inputs.push_back(residual ? graph.input("r", {DType::kF32, {2, channels, 9, 7}}) : nullptr);
      if (ending == "slope") inputs.push_back(graph.input("s", {DType::kF32, {channels}}));
      graph.mark_output(graph.add("conv", inputs, attrs)->output());
      std::vector<Tensor> given;
      for (const Value* input : graph.inputs())
        given.push_back(random_tensor(DType::kF32, input->shape(), given.size()));
      const Tensor expected = run_graph(graph, given, only("reference"))[0];
      // What makes something of padding cannot be taken by kernels that work on whole blocks.
      const bool moves_zero = ending == "sigmoid" || ending == "hard_sigmoid" || attrs.has("shift");
      const bool declines = ours && std::string(candidate) != "lines" &&
                            channels % simd::block_lanes(simd::best_isa()) != 0 && moves_zero;
      const Tensor actual = run_graph(graph, given, declines ? CompileOptions{} : only(candidate))[0];
      expect_close(actual, expected, kTolerance, candidate);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ConvActivation,
                         ::testing::Combine(::testing::Values("onednn", "gemm", "rows", "lines", "winograd"),
                                            ::testing::Values(32, 24, 1)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" + std::to_string(std::get<1>(test.param));
                         });

TEST(ConvActivation, OneDnnTakesDepthwiseAndDilatedOnes) {
  for (const std::string& ending : endings()) {
    SCOPED_TRACE(ending);
    const BuildOp build = [&](const std::vector<Value*>& v) {
      std::vector<Value*> inputs{v[0], v[1], v[2]};
      if (ending == "slope") inputs.insert(inputs.end(), {nullptr, v[2]});
      Attributes attrs = with_activation(ending, {2, 2});
      attrs.set("groups", int64_t{18});
      attrs.set("dilations", std::vector<int64_t>{2, 2});
      return v[0]->graph().add("conv", inputs, attrs)->outputs();
    };
    check_fast_path({{{2, 18, 9, 7}}, {{18, 1, 3, 3}}, {{18}}}, build, "onednn", kTolerance, false);
  }
}

TEST(ConvActivation, LinesTakeSignalsByChannel) {
  for (const int64_t channels : {2, 18, 33}) {
    for (const int64_t length : {1, 7, 130}) {
      for (const std::string& ending : endings()) {
        SCOPED_TRACE(ending + " " + std::to_string(channels) + " x " + std::to_string(length));
        Graph graph;
        Value* bias = graph.input("b", {DType::kF32, {channels}});
        std::vector<Value*> inputs{graph.input("x", {DType::kF32, {2, channels, length}}),
                                   graph.input("w", {DType::kF32, {channels, 1, 5}}), bias};
        if (ending == "slope") inputs.insert(inputs.end(), {nullptr, bias});
        Attributes attrs = with_activation(ending, {4});
        attrs.set("groups", channels);
        attrs.set("strides", std::vector<int64_t>{2});
        attrs.set("dilations", std::vector<int64_t>{2});
        graph.mark_output(graph.add("conv", inputs, attrs)->output());
        std::vector<Tensor> given;
        for (const Value* input : graph.inputs()) {
          given.push_back(random_tensor(DType::kF32, input->shape(), given.size()));
        }
        expect_close(run_graph(graph, given, only("lines"))[0], run_graph(graph, given, only("reference"))[0],
                     kTolerance, ending);
      }
    }
  }
}

TEST(ConvActivation, SlopesAreChecked) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {1, 4, 5, 5}});
  Value* w = graph.input("w", {DType::kF32, {8, 4, 3, 3}});
  Value* slope = graph.input("s", {DType::kF32, {4}});
  try {
    graph.add("conv", {x, w, nullptr, nullptr, slope}, {}, "layer");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("conv 'layer'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("slopes"), std::string::npos) << error.what();
  }
}

/// Weights that are the same in every run are arranged for the product once.
TEST(LinearOfFixedWeights, MatchesReferenceWithEveryActivation) {
  for (const auto& [rows, columns, inner] :
       std::vector<std::tuple<int64_t, int64_t, int64_t>>{{1, 70, 33}, {5, 1, 64}, {37, 64, 1}, {128, 48, 96}}) {
    for (const auto& [activation, attrs] : all_endings({})) {
      if (activation == "slope") continue;
      std::ostringstream what;
      what << activation << " " << attrs.to_string() << " " << rows << "x" << inner << "x" << columns;
      SCOPED_TRACE(what.str());
      Graph graph;
      Value* weight = graph.parameter("w", random_tensor(DType::kF32, {columns, inner}, 1));
      Value* bias = graph.parameter("b", random_tensor(DType::kF32, {columns}, 2));
      Value* x = graph.input("x", {DType::kF32, {1, rows, inner}});
      Attributes own = attrs;
      own.erase("pads");
      graph.mark_output(graph.add("linear", {x, weight, bias}, own)->output());
      const std::vector<Tensor> given{random_tensor(DType::kF32, x->shape(), 3)};
      expect_close(run_graph(graph, given)[0], run_graph(graph, given, only("reference"))[0], kTolerance, what.str());
    }
  }
}

}  // namespace
}  // namespace thalweg::testing

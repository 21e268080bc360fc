// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

#include "support/error_text.h"
#include "thalweg/onnx.h"
#include "thalweg/ops.h"
#include "thalweg/zoo.h"
#include "train/zoo_cases.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

std::string path_of(const std::string& name) { return ::testing::TempDir() + "/exact_" + name + ".onnx"; }

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && std::memcmp(a.raw(), b.raw(), a.num_bytes()) == 0;
}

/// Everything but the names of computed values, which a file makes unique.
std::string structure_of(const Graph& graph) {
  std::ostringstream text;
  std::map<const Value*, size_t> numbers{{nullptr, 0}};
  const auto number = [&](const Value* value) { return numbers.emplace(value, numbers.size()).first->second; };
  for (const auto* group : {&graph.inputs(), &graph.parameters(), &graph.states(), &graph.constants()}) {
    for (const Value* value : *group)
      text << number(value) << ' ' << value->type() << ' ' << value->trainable() << '\n';
  }
  for (const Value* value : graph.parameters()) text << value->name() << '\n';
  for (const Value* value : graph.states()) text << value->name() << '\n';
  for (const auto& node : graph.nodes()) {
    text << node->op_name() << node->attrs().to_string();
    for (const Value* input : node->inputs()) text << ' ' << number(input);
    for (const Value* output : node->outputs()) text << " -> " << number(output) << ' ' << output->type();
    text << '\n';
  }
  for (const Value* output : graph.outputs()) text << number(output) << ' ' << output->name() << '\n';
  for (const auto& [state, value] : graph.assignments()) text << number(state) << " = " << number(value) << '\n';
  return text.str();
}

TEST(ExactFile, EveryModelOfTheZooComesBack) {
  for (const std::string& name : zoo::names()) {
    const std::unique_ptr<Graph> graph = zoo::build(name, small_zoo_options(name));
    const std::string path = path_of("zoo");
    onnx::save_exactly(*graph, path);
    const std::unique_ptr<Graph> read = onnx::load_for_training(path);
    read->verify();
    const std::unique_ptr<Graph> expected = graph->clone();
    expected->remove_dead_nodes();
    EXPECT_EQ(structure_of(*read), structure_of(*expected)) << name;
    ASSERT_EQ(read->parameters().size(), graph->parameters().size());
    for (size_t i = 0; i < read->parameters().size(); ++i) {
      EXPECT_TRUE(same_bytes(read->parameters()[i]->data(), graph->parameters()[i]->data()));
    }
    for (size_t i = 0; i < read->states().size(); ++i) {
      EXPECT_TRUE(same_bytes(read->states()[i]->data(), graph->states()[i]->data()));
    }
  }
}

TEST(ExactFile, KeepsWhatIsFrozenAndNumbersToTheLastBit) {
  Graph graph("odd");
  Value* x = graph.input("x", {DType::kF32, {kFree, 3}});
  Value* frozen = graph.parameter("frozen", Tensor::zeros(DType::kF32, {3}), false);
  graph.mark_output(ops::clip(ops::add(x, frozen), 0.1, std::numeric_limits<double>::infinity()), "y");
  onnx::save_exactly(graph, path_of("odd"));
  const std::unique_ptr<Graph> read = onnx::load_for_training(path_of("odd"));
  EXPECT_EQ(read->to_string(), graph.to_string());
  EXPECT_FALSE(read->parameters()[0]->trainable());
  EXPECT_EQ(read->outputs()[0]->name(), "y");
}

TEST(ExactFile, TakesWeightsFromElsewhere) {
  Graph graph("m");
  Value* x = graph.input("x", {DType::kF32, {kFree, 2}});
  graph.mark_output(ops::mul(x, graph.parameter("w", Tensor::zeros(DType::kF32, {2}))));
  Tensor other(DType::kF32, {2});
  other.data<float>()[0] = 3;
  other.data<float>()[1] = 4;
  onnx::save_exactly(graph, path_of("weights"), [&](const std::string& name) {
    EXPECT_EQ(name, "w");
    return other;
  });
  EXPECT_TRUE(same_bytes(onnx::load_for_training(path_of("weights"))->parameters()[0]->data(), other));
}

TEST(ExactFile, WhatSaysNothingOfTrainingIsRefusedOrTakenAsItIs) {
  Graph graph("m");
  Value* x = graph.input("x", {DType::kF32, {kFree, 2}});
  graph.mark_output(ops::mul(x, graph.parameter("w", Tensor::zeros(DType::kF32, {2}))), "y");
  const auto weight = [&](const std::string& name) { return graph.find(name)->data(); };
  for (const char* text : {"", "[]", "{}", R"({"trained": 3})", R"({"trained": ["w"], "batch_norms": {}})",
                           R"({"trained": [], "batch_norms": "frozen", "assignments": [["w"]]})"}) {
    // The writer says it anew: only a foreign file has such a property.
    const Tensor bytes = onnx::to_bytes(graph, weight, {{"thalweg.other", text}});
    std::string file(static_cast<const char*>(bytes.raw()), bytes.num_bytes());
    const std::string good = R"({"batch_norms":"frozen","trained":["w"]})";
    const size_t at = file.find(good);
    ASSERT_NE(at, std::string::npos);
    std::string bad(text);
    bad.resize(good.size(), ' ');
    file.replace(at, good.size(), bad);
    const std::string path = path_of("bad");
    std::ofstream(path, std::ios::binary) << file;
    EXPECT_THAT(error_text([&] { onnx::load_for_training(path); }), HasSubstr("thalweg.training")) << text;
  }
}

}  // namespace
}  // namespace thalweg::testing

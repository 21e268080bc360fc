// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <limits>

#include "support/error_text.h"
#include "thalweg/ops.h"
#include "thalweg/safetensors.h"
#include "thalweg/zoo.h"
#include "train/zoo_cases.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

std::string path_of(const std::string& name) { return ::testing::TempDir() + "/graph_file_" + name; }

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && std::memcmp(a.raw(), b.raw(), a.num_bytes()) == 0;
}

TEST(GraphFile, EveryModelOfTheZooComesBack) {
  for (const std::string& name : zoo::names()) {
    const std::unique_ptr<Graph> graph = zoo::build(name, small_zoo_options(name));
    const std::string path = path_of("zoo");
    save_graph(*graph, path);
    const std::unique_ptr<Graph> read = load_graph(path);
    read->verify();
    // Copies number constants first, as a reader does.
    EXPECT_EQ(read->to_string(), graph->clone()->to_string()) << name;
    ASSERT_EQ(read->parameters().size(), graph->parameters().size());
    for (size_t i = 0; i < read->parameters().size(); ++i) {
      EXPECT_TRUE(same_bytes(read->parameters()[i]->data(), graph->parameters()[i]->data()));
    }
    for (size_t i = 0; i < read->states().size(); ++i) {
      EXPECT_TRUE(same_bytes(read->states()[i]->data(), graph->states()[i]->data()));
    }
  }
}

TEST(GraphFile, KeepsWhatIsFrozenAndNumbersToTheLastBit) {
  Graph graph("odd");
  Value* x = graph.input("x", {DType::kF32, {kFree, 3}});
  Value* frozen = graph.parameter("frozen", Tensor::zeros(DType::kF32, {3}), false);
  graph.mark_output(ops::clip(ops::add(x, frozen), 0.1, std::numeric_limits<double>::infinity()), "y");
  save_graph(graph, path_of("odd"));
  const std::unique_ptr<Graph> read = load_graph(path_of("odd"));
  EXPECT_EQ(read->to_string(), graph.to_string());
  EXPECT_FALSE(read->parameters()[0]->trainable());
  EXPECT_EQ(read->outputs()[0]->name(), "y");
}

TEST(GraphFile, TakesWeightsFromElsewhere) {
  Graph graph("m");
  Value* x = graph.input("x", {DType::kF32, {kFree, 2}});
  graph.mark_output(ops::mul(x, graph.parameter("w", Tensor::zeros(DType::kF32, {2}))));
  Tensor other(DType::kF32, {2});
  other.data<float>()[0] = 3;
  other.data<float>()[1] = 4;
  save_graph(graph, path_of("weights"), [&](const std::string& name) {
    EXPECT_EQ(name, "w");
    return other;
  });
  EXPECT_TRUE(same_bytes(load_graph(path_of("weights"))->parameters()[0]->data(), other));
}

TEST(GraphFile, OtherFilesAreRefused) {
  const std::string path = path_of("bad");
  save_safetensors(path, {});
  EXPECT_THAT(error_text([&] { load_graph(path); }), HasSubstr("is no graph"));
  for (const char* text : {"", "[]", "{}", R"({"version": 9})", R"({"version": 1, "graph": 3})",
                           R"({"version": 1, "graph": {"name": "x", "inputs": [], "held": [], "constants": [],
                               "nodes": [{"op": "relu", "name": "", "inputs": [7], "outputs": [], "attrs": {}}],
                               "outputs": [], "assignments": []}})",
                           R"({"version": 1, "graph": {"name": "x", "inputs": [], "held": [], "constants": [],
                               "nodes": [{"op": "nothing", "name": "", "inputs": [], "outputs": [], "attrs": {}}],
                               "outputs": [], "assignments": []}})"}) {
    save_safetensors(path, {}, {{"thalweg.graph", text}});
    EXPECT_THAT(error_text([&] { load_graph(path); }), HasSubstr("cannot be read")) << text;
  }
}

}  // namespace
}  // namespace thalweg::testing

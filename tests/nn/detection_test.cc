// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// SSD300 against PyTorch: forward, losses, and 20 steps of training (tests/golden/make_ssd.py).
#include "thalweg/nn/detection.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "nn/detection_golden.h"
#include "support/op_check.h"
#include "support/temporary_directory.h"
#include "thalweg/model.h"

namespace thalweg::testing {
namespace {

const nlohmann::json& golden() {
  static const nlohmann::json kGolden = read_golden("ssd300");
  return kGolden;
}

/// The network with the weights that PyTorch started from.
std::unique_ptr<Graph> narrow_ssd() {
  auto graph = nn::ssd300({.classes = golden().at("classes"), .width = golden().at("width")});
  nn::deterministic_initialise(*graph);
  Value* factors = graph->find("L2Norm.weight");
  factors->set_data(Tensor::full<float>(factors->shape(), 20.0F));
  return graph;
}

nn::DetectionHeads heads_of(const Graph& graph) { return {graph.outputs()[0], graph.outputs()[1], graph.outputs()[2]}; }

std::vector<Tensor> batch() { return labelled_batch(golden(), 300); }

TEST(Ssd300, AnswersAsPyTorchDoes) {
  const auto graph = narrow_ssd();
  expect_names_of_golden(*graph, golden());
  const std::vector<Tensor> outputs = run_graph(*graph, {batch()[0]});
  EXPECT_EQ(outputs[0].shape(), (Shape{2, 8732, 4}));
  expect_like_golden(outputs[0], golden(), "places");
  expect_like_golden(outputs[1], golden(), "logits");
  expect_like_golden(outputs[2], golden(), "priors");
}

TEST(Ssd300, FollowsPyTorch) {
  const auto graph = narrow_ssd();
  const std::vector<Tensor> given = batch();
  const int64_t most = given[2].shape()[1];
  Value* boxes = graph->input("boxes", {DType::kF32, {kFree, most, 4}});
  Value* kinds = graph->input("kinds", {DType::kI64, {kFree, most}});
  const nn::MultiboxLoss loss = nn::multibox_loss(heads_of(*graph), boxes, kinds);
  for (Value* value : {loss.matches, loss.places, loss.classes, loss.total}) graph->mark_output(value);
  Training training(*graph, given);
  // The difference between f32 and f64 in PyTorch itself, and what another order of sums adds to it.
  const double tolerance = 10 * golden().at("f64_gap").get<double>();
  for (size_t step = 0; step < golden().at("losses").size(); ++step) {
    const std::vector<Tensor> outputs = training.step(given, golden().at("rate"));
    const double expected = golden().at("losses")[step];
    ASSERT_NEAR(outputs.back().item(), expected, (step == 0 ? 2e-5 : tolerance) * expected) << "step " << step;
    if (step > 0) continue;
    const int64_t* matches = outputs[3].data<int64_t>();
    const auto matched = std::count_if(matches, matches + outputs[3].num_elements(), [](int64_t m) { return m >= 0; });
    EXPECT_EQ(matched, golden().at("matched").get<int64_t>());
    const double places = golden().at("place_loss"), classes = golden().at("class_loss");
    EXPECT_NEAR(outputs[4].item(), places, 2e-5 * places);
    EXPECT_NEAR(outputs[5].item(), classes, 2e-5 * classes);
  }
}

/// What was found is part of the model, also in a file of standard operators.
TEST(Ssd300, FindsTheSameOnceSaved) {
  auto graph = narrow_ssd();
  ops::DetectionOptions options;
  options.score_threshold = 0.3;
  options.candidates = 100;
  options.keep = 20;
  graph->mark_output(nn::detect(heads_of(*graph), options), "found");
  const Model model(std::move(graph));
  const TemporaryDirectory folder;
  model.save(folder / "ssd.onnx");
  const Tensor picture = nn::deterministic_uniform("picture", {2, 3, 300, 300}, 1.0);
  const Tensor found = model.predict({picture}).back();
  EXPECT_EQ(found.shape(), (Shape{2, 20, 7}));
  EXPECT_EQ(found.data<float>()[0], 0.0F) << "something is found";
  expect_close(Model::load(folder / "ssd.onnx").predict({picture}).back(), found, 1e-4, "found");
}

}  // namespace
}  // namespace thalweg::testing

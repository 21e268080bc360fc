// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// SSD300 against PyTorch: forward, losses, and 20 steps of training (tests/golden/make_ssd.py).
#include "thalweg/nn/detection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/threads.h"
#include "nn/init/deterministic.h"
#include "runtime/program.h"
#include "runtime/specialize.h"
#include "support/op_check.h"
#include "support/source_dir.h"
#include "support/temporary_directory.h"
#include "thalweg/model.h"
#include "thalweg/optim.h"
#include "thalweg/passes.h"

namespace thalweg::testing {
namespace {

const nlohmann::json& golden() {
  static const nlohmann::json kGolden = [] {
    std::ifstream file(TW_SOURCE_DIR "/tests/golden/ssd300.json");
    TW_REQUIRE(file.good(), "cannot read the golden file");
    return nlohmann::json::parse(file);
  }();
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

/// Pictures, boxes and kinds.
std::vector<Tensor> batch() {
  const nlohmann::json& objects = golden().at("objects");
  const auto pictures = static_cast<int64_t>(objects.size()), most = static_cast<int64_t>(objects[0].size());
  std::vector<float> boxes;
  std::vector<int64_t> kinds;
  for (const auto& picture : objects) {
    for (const auto& object : picture) {
      for (size_t i = 0; i < 4; ++i) boxes.push_back(object[i].get<float>());
      kinds.push_back(object[4].get<int64_t>());
    }
  }
  return {nn::deterministic_uniform("input.0", {pictures, 3, 300, 300}, 1.0),
          Tensor::from<float>({pictures, most, 4}, boxes), Tensor::from<int64_t>({pictures, most}, kinds)};
}

void expect_like_golden(const Tensor& value, const char* name) {
  const nlohmann::json& expected = golden().at(name);
  double sum = 0, abs_sum = 0;
  for (int64_t i = 0; i < value.num_elements(); ++i) {
    const auto element = static_cast<double>(value.data<float>()[i]);
    sum += element;
    abs_sum += std::fabs(element);
  }
  const double size = expected.at("abs_sum");
  EXPECT_NEAR(abs_sum, size, 1e-4 * size) << name;
  EXPECT_NEAR(sum, expected.at("sum").get<double>(), 1e-4 * size) << name;
  const double mean = size / static_cast<double>(value.num_elements());
  for (size_t i = 0; i < expected.at("every_997th").size(); ++i) {
    const double element = expected.at("every_997th")[i];
    const auto actual = static_cast<double>(value.data<float>()[i * 997]);
    ASSERT_NEAR(actual, element, 1e-3 * (mean + std::fabs(element))) << name << ' ' << i * 997;
  }
}

TEST(Ssd300, AnswersAsPyTorchDoes) {
  const auto graph = narrow_ssd();
  std::vector<std::pair<std::string, Shape>> expected, actual;
  for (const auto& [name, dims] :
       golden().at("parameters").get<std::vector<std::pair<std::string, std::vector<int64_t>>>>()) {
    expected.emplace_back(name, Shape(dims));
  }
  for (const Value* parameter : graph->parameters()) actual.emplace_back(parameter->name(), parameter->shape());
  std::sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::sort(actual.begin(), actual.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  EXPECT_EQ(actual, expected) << "the names of the published files";
  const std::vector<Tensor> outputs = run_graph(*graph, {batch()[0]});
  EXPECT_EQ(outputs[0].shape(), (Shape{2, 8732, 4}));
  expect_like_golden(outputs[0], "places");
  expect_like_golden(outputs[1], "logits");
  expect_like_golden(outputs[2], "priors");
}

/// Trains a graph whose last output is the loss, as the golden file's script does.
class Training {
 public:
  Training(const Graph& graph, const std::vector<Tensor>& inputs) : optimizer_(optim::sgd({.momentum = 0.9})) {
    std::vector<TensorType> types;
    for (const Tensor& tensor : inputs) types.push_back(tensor.type());
    std::unordered_map<const Value*, Value*> mapping;
    auto fixed = specialize(graph, types, &mapping);
    prepare_for_training(*fixed, mapping.at(graph.outputs().back()), Precision::kF32);
    auto variables = std::make_shared<Variables>(*fixed);
    CompileOptions options;
    options.threads = available_processors();
    options.training = true;
    session_ = std::make_unique<Session>(Program::compile(std::move(fixed), variables, options));
    slots_.assign(variables->size(), 0);
    for (const GradientSlot& slot : session_->program().gradients()) {
      const auto floats = static_cast<int64_t>(variables->layout(slot.variable).bytes() / sizeof(float));
      slots_[slot.variable] = optimizer_.add_parameter(variables->name(slot.variable), floats);
    }
  }

  std::vector<Tensor> step(const std::vector<Tensor>& inputs, double rate) {
    Variables& variables = session_->program().variables();
    optimizer_.begin_step(rate);
    auto outputs = session_->run(inputs, [&](const GradientView& gradient) {
      auto* values = static_cast<float*>(variables.data(gradient.variable));
      const size_t size = variables.layout(gradient.variable).bytes() / sizeof(float);
      optimizer_.update(slots_[gradient.variable], {values, size}, {gradient.dense, gradient.num_floats});
    });
    variables.touch();
    return outputs;
  }

 private:
  optim::Optimizer optimizer_;
  std::unique_ptr<Session> session_;
  std::vector<size_t> slots_;
};

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

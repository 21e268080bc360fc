// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// YOLACT against PyTorch: forward, losses, and 20 steps of training (tests/golden/make_yolact.py).
#include "thalweg/nn/yolact.h"

#include <gtest/gtest.h>

#include "nn/detection_golden.h"
#include "support/op_check.h"
#include "support/temporary_directory.h"
#include "thalweg/model.h"

namespace thalweg::testing {
namespace {

const nlohmann::json& golden() {
  static const nlohmann::json kGolden = read_golden("yolact");
  return kGolden;
}

nn::YolactHeads add_network(Graph& graph) {
  const int64_t size = golden().at("image_size");
  Value* x = graph.input("input", {DType::kF32, {kFree, 3, size, size}});
  nn::YolactOptions options;
  options.classes = golden().at("classes");
  options.image_size = size;
  options.width = golden().at("width");
  return nn::Yolact(options).forward(nn::Scope(graph), x);
}

/// As the script does it: what the rules of deterministic.py say, and what it says besides.
void set_weights(Graph& graph) {
  for (Value* parameter : graph.parameters()) {
    const std::string& name = parameter->name();
    if (name.ends_with("running_mean") || name.ends_with("running_var")) continue;
    const Shape& shape = parameter->shape();
    if (shape.rank() == 1) {
      const float scale = name.ends_with("bn3.weight") ? 0.125F : 1.0F;
      parameter->set_data(Tensor::full<float>(shape, name.ends_with("weight") ? scale : 0.0F));
      continue;
    }
    const auto fan = static_cast<double>(shape.num_elements() / shape[0]);
    const Tensor values = nn::deterministic_uniform(name, shape, std::sqrt(6.0 / fan));
    const float factor = name.starts_with("backbone") ? 1.0F : 0.25F;
    for (int64_t i = 0; i < values.num_elements(); ++i) values.data<float>()[i] *= factor;
    parameter->set_data(values);
  }
}

/// The right halves of the boxes, as the script has them.
Tensor picture_masks() {
  const int64_t size = golden().at("image_size");
  const nlohmann::json& objects = golden().at("objects");
  const auto pictures = static_cast<int64_t>(objects.size()), most = static_cast<int64_t>(objects[0].size());
  Tensor masks = Tensor::zeros(DType::kF32, {pictures, most, size, size});
  float* plane = masks.data<float>();
  for (const auto& picture : objects) {
    for (const auto& object : picture) {
      const auto place = [&](double share) {
        return static_cast<int64_t>(std::nearbyint(share * static_cast<double>(size)));
      };
      const double left = object[0], top = object[1], right = object[2], bottom = object[3];
      for (int64_t y = place(top); y < place(bottom); ++y) {
        for (int64_t x = place((left + right) / 2); x < place(right); ++x) plane[y * size + x] = 1.0F;
      }
      plane += size * size;
    }
  }
  return masks;
}

TEST(Yolact, AnswersAsPyTorchDoes) {
  Graph graph;
  const nn::YolactHeads heads = add_network(graph);
  set_weights(graph);
  expect_names_of_golden(graph, golden());
  const std::vector<std::pair<const char*, Value*>> outputs{
      {"places", heads.boxes.places},   {"logits", heads.boxes.logits}, {"coefficients", heads.coefficients},
      {"prototypes", heads.prototypes}, {"segments", heads.segments},   {"priors", heads.boxes.priors}};
  for (const auto& [name, value] : outputs) graph.mark_output(value);
  const std::vector<Tensor> results = run_graph(graph, {labelled_batch(golden(), golden().at("image_size"))[0]});
  for (size_t i = 0; i < outputs.size(); ++i) expect_like_golden(results[i], golden(), outputs[i].first);
}

TEST(Yolact, FollowsPyTorch) {
  Graph graph;
  const nn::YolactHeads heads = add_network(graph);
  set_weights(graph);
  std::vector<Tensor> given = labelled_batch(golden(), golden().at("image_size"));
  given.push_back(picture_masks());
  std::vector<Value*> labels;
  for (size_t i = 1; i < given.size(); ++i) {
    TensorType type = given[i].type();
    type.shape[0] = kFree;
    labels.push_back(graph.input("label" + std::to_string(i), type));
  }
  nn::YolactLossOptions options;
  options.most_masks = golden().at("most_masks");
  const nn::YolactLoss loss = nn::yolact_loss(heads, labels[0], labels[1], labels[2], options);
  const std::vector<std::pair<const char*, Value*>> parts{
      {"places", loss.places}, {"classes", loss.classes}, {"masks", loss.masks}, {"segments", loss.segments}};
  for (const auto& [name, value] : parts) graph.mark_output(value);
  graph.mark_output(loss.total);
  Training training(graph, given);
  for (size_t step = 0; step < golden().at("losses").size(); ++step) {
    const std::vector<Tensor> outputs = training.step(given, golden().at("rate"));
    for (size_t i = 0; step == 0 && i < parts.size(); ++i) {
      const double expected = golden().at("parts").at(parts[i].first);
      EXPECT_NEAR(outputs[i].item(), expected, 2e-5 * expected) << parts[i].first;
    }
    const double expected = golden().at("losses")[step];
    ASSERT_NEAR(outputs.back().item(), expected, 2e-4 * expected) << "step " << step;
  }
}

/// Objects and masks are part of the model, also in a file of standard operators.
TEST(Yolact, FindsTheSameOnceSaved) {
  auto graph = std::make_unique<Graph>("yolact");
  const nn::YolactHeads heads = add_network(*graph);
  set_weights(*graph);
  ops::FastNmsOptions options;
  options.candidates = 50;
  options.keep = 7;
  const nn::YolactDetections found = nn::yolact_detect(heads, options);
  for (Value* value : {found.scores, found.classes, found.boxes, found.masks}) graph->mark_output(value);
  const Model model(std::move(graph));
  const Tensor picture = labelled_batch(golden(), golden().at("image_size"))[0];
  const std::vector<Tensor> outputs = model.predict({picture});
  EXPECT_EQ(outputs[3].shape(), (Shape{2, 7, 36, 36}));
  EXPECT_GT(outputs[0].data<float>()[0], 0.05F);
  const TemporaryDirectory folder;
  model.save(folder / "yolact.onnx");
  const std::vector<Tensor> again = Model::load(folder / "yolact.onnx").predict({picture});
  for (size_t i = 0; i < outputs.size(); ++i) expect_close(again[i], outputs[i], 1e-4, std::to_string(i));
}

}  // namespace
}  // namespace thalweg::testing

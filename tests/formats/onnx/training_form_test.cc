// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Files of models that are trained on, saved, and trained on again.
#include <gtest/gtest.h>

#include "formats/onnx/model_file.h"
#include "support/temporary_directory.h"
#include "thalweg/losses.h"
#include "thalweg/nn.h"
#include "thalweg/train.h"

namespace thalweg::testing {
namespace {

/// What other runtimes know of the operators that these files have.
const std::map<std::string, std::set<std::string>> kStandard = {
    {"Gemm", {"alpha", "beta", "transA", "transB"}},
    {"BatchNormalization", {"epsilon", "momentum", "training_mode"}},
    {"Dropout", {"seed"}},
    {"Relu", {}},
};

void expect_standard_nodes(const std::string& path) {
  const std::shared_ptr<const onnx::ModelFile> file = onnx::open_model(path);
  for (const onnx::NodeProto& node : file->proto.graph.node) {
    EXPECT_EQ(node.domain, "");
    const auto known = kStandard.find(node.op_type);
    if (known == kStandard.end()) continue;
    for (const onnx::AttributeProto& attribute : node.attribute) {
      EXPECT_TRUE(known->second.contains(attribute.name)) << node.op_type << " has " << attribute.name;
    }
  }
}

Model new_model() {
  auto graph = std::make_unique<Graph>("net");
  Value* x = graph->input("x", {DType::kF32, {kFree, 4}});
  const nn::Sequential net{nn::Linear(4, 8), nn::BatchNorm1d(8), nn::ReLU(), nn::Dropout(0.5), nn::Linear(8, 2)};
  graph->mark_output(net.forward(nn::Scope(*graph), x), "y");
  return Model(std::move(graph));
}

void train(Model& model) {
  Tensor x(DType::kF32, {16, 4}), y(DType::kI64, {16});
  for (int64_t i = 0; i < x.num_elements(); ++i) x.data<float>()[i] = static_cast<float>(i % 7) - 2.0F;
  for (int64_t i = 0; i < 16; ++i) y.data<int64_t>()[i] = i % 2;
  Trainer trainer(model, losses::cross_entropy, optim::sgd(),
                  {.epochs = 2, .batch_size = 8, .learning_rate = 0.1, .threads = 1, .progress = ShowProgress::kNone});
  trainer.fit(data::TensorDataset({x}, {y}));
}

std::vector<float> running_mean(const Model& model) {
  for (const std::string& name : model.weight_names()) {
    const Tensor weight = model.weight(name);
    if (name.ends_with("running_mean")) return {weight.data<float>(), weight.data<float>() + weight.num_elements()};
  }
  ADD_FAILURE() << "there is no batch norm";
  return {};
}

TEST(TrainingForm, AModelThatIsSavedAgainIsStillStandardAndTrainsAsAsked) {
  const TemporaryDirectory folder;
  const std::string first = folder / "first.onnx", second = folder / "second.onnx", third = folder / "third.onnx";
  Model model = new_model();
  train(model);
  model.save(first);
  Model::load(first).save(second);
  Model::load(second).save(third);
  for (const std::string& path : {first, second, third}) {
    expect_standard_nodes(path);
    for (const auto norms : {onnx::BatchNormTraining::kFrozen, onnx::BatchNormTraining::kLearned}) {
      Model again = Model::load(path, {.train_batch_norm = norms});
      const std::vector<float> before = running_mean(again);
      train(again);
      EXPECT_EQ(running_mean(again) == before, norms == onnx::BatchNormTraining::kFrozen) << path;
      again.save(folder / "trained.onnx");
      expect_standard_nodes(folder / "trained.onnx");
    }
    // Nobody asks, and the file says that they learn.
    Model unasked = Model::load(path);
    const std::vector<float> before = running_mean(unasked);
    train(unasked);
    EXPECT_NE(running_mean(unasked), before) << path;
  }
}

}  // namespace
}  // namespace thalweg::testing

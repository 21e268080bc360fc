// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "formats/onnx/import_graph.h"
#include "thalweg/onnx.h"

namespace thalweg::onnx {
namespace {

/// Exporters often fix the batch of their example.
void free_batch(Value* value) {
  TensorType type = value->type();
  if (type.shape.rank() > 0) type.shape[0] = kFree;
  value->declare(std::move(type));
}

}  // namespace

const char* name_of(BatchNormTraining training) {
  return training == BatchNormTraining::kLearned ? "learned" : "frozen";
}

BatchNormTraining batch_norm_training_from_name(const std::string& name) {
  for (const auto training : {BatchNormTraining::kFrozen, BatchNormTraining::kLearned}) {
    if (name == name_of(training)) return training;
  }
  raise("unknown training of batch norms '", name, "'; known: frozen, learned");
}

ImportedModel import_for_training(const std::string& path, std::optional<BatchNormTraining> batch_norms) {
  ImportedModel model = import_model(open_model(path), batch_norms);
  for (Value* input : model.graph->inputs()) {
    TW_REQUIRE(input->typed(), path, ": input ", printable(input->name()),
               " has no element type or shape, which training needs");
    TW_REQUIRE(input->shape().rank() > 0, path, ": input ", printable(input->name()),
               " has no dimension for the batch");
    free_batch(input);
  }
  for (Value* output : model.graph->outputs()) {
    if (output->kind() == Value::Kind::kComputed && output->typed()) free_batch(output);
  }
  // Copies: what lies in the mapped file must not change.
  for (const StoredWeight& weight : model.weights) model.graph->find(weight.name)->set_data(weight.load().clone());
  model.weights.clear();
  return model;
}

std::unique_ptr<Graph> load_for_training(const std::string& path, std::optional<BatchNormTraining> batch_norms) {
  return import_for_training(path, batch_norms).graph;
}

}  // namespace thalweg::onnx

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

std::unique_ptr<Graph> load_for_training(const std::string& path) {
  ImportedModel model = import_model(open_model(path));
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
  return std::move(model.graph);
}

}  // namespace thalweg::onnx

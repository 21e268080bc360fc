// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "formats/onnx/importer.h"
#include "thalweg/onnx.h"

namespace thalweg::onnx {
namespace {

/// Running statistics are no weights.
constexpr size_t kBatchNormMean = 3;
constexpr size_t kBatchNormVariance = 4;

/// Initialisers that a gradient may change: arrays of floats, but for the statistics of batch norms.
class Weights : public ValueSource {
 public:
  explicit Weights(const ModelFile& model) : model_(model) {
    for (const TensorProto& tensor : model.proto.graph.initializer) initializers_.emplace(tensor.name, &tensor);
    for (const NodeProto& node : model.proto.graph.node) {
      if (node.op_type != "BatchNormalization" || node.input.size() <= kBatchNormVariance) continue;
      fixed_.insert(node.input[kBatchNormMean]);
      fixed_.insert(node.input[kBatchNormVariance]);
    }
  }

  Value* define(const std::string& name, Graph& graph) override {
    const auto found = initializers_.find(name);
    if (found == initializers_.end()) return nullptr;
    const Tensor tensor = model_.tensor(*found->second);
    const bool trained = tensor.dtype() == DType::kF32 && tensor.shape().num_elements() > 1 && fixed_.count(name) == 0;
    // A copy: what lies in the mapped file must not change.
    return trained ? graph.parameter(name, tensor.clone()) : graph.constant(tensor);
  }
  Tensor content(const Value* value) override {
    const auto found = initializers_.find(value->name());
    return found != initializers_.end() ? model_.tensor(*found->second) : Tensor();
  }
  bool contains(const std::string& name) const { return initializers_.count(name) > 0; }

 private:
  const ModelFile& model_;
  std::unordered_map<std::string, const TensorProto*> initializers_;
  std::unordered_set<std::string> fixed_;
};

TensorType input_type(const ModelFile& model, const ValueInfoProto& info) {
  const auto dtype = dtype_of(info.type.elem_type);
  TW_REQUIRE(info.type.kind == TypeProto::Kind::kTensor && dtype.has_value() && info.type.has_shape, model.name,
             ": input ", printable(info.name), " has no element type or shape, which training needs");
  std::vector<int64_t> dims;
  for (const Dimension& dimension : info.type.shape) dims.push_back(dimension.value >= 0 ? dimension.value : kFree);
  TW_REQUIRE(!dims.empty(), model.name, ": input ", printable(info.name), " has no dimension for the batch");
  // Exporters often fix the batch of their example.
  dims[0] = kFree;
  return {*dtype, Shape(std::move(dims))};
}

void convert_all(const ModelFile& model, Importer& importer) {
  const std::vector<NodeProto>& nodes = model.proto.graph.node;
  std::vector<bool> done(nodes.size(), false);
  std::vector<std::string> problems;
  for (bool progress = true; progress;) {
    progress = false;
    problems.clear();
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (done[i]) continue;
      std::string problem = "an input of it cannot be computed";
      const Importer::Outcome outcome = importer.convert(nodes[i], problem);
      done[i] = outcome == Importer::Outcome::kConverted;
      progress |= done[i];
      if (outcome == Importer::Outcome::kNeedsContent) problem = "it depends on the content of the data";
      if (!done[i] && outcome != Importer::Outcome::kNotReady) problems.push_back(describe(nodes[i]) + ": " + problem);
    }
  }
  TW_REQUIRE(problems.empty(), model.name, ": cannot be trained, of its nodes ", problems.size(),
             problems.size() == 1 ? " is" : " are", " not supported:\n  ", join(problems, "\n  "));
}

}  // namespace

std::unique_ptr<Graph> load_for_training(const std::string& path) {
  const std::shared_ptr<const ModelFile> model = open_model(path);
  const GraphProto& proto = model->proto.graph;
  auto graph = std::make_unique<Graph>(proto.name.empty() ? "model" : proto.name);
  Weights weights(*model);
  Importer importer(*model, *graph, weights);
  for (const ValueInfoProto& info : proto.input) {
    if (weights.contains(info.name)) continue;
    importer.define(info.name, graph->input(info.name, input_type(*model, info)));
  }
  convert_all(*model, importer);
  for (const ValueInfoProto& info : proto.output) {
    Value* value = importer.find(info.name);
    TW_REQUIRE(value != nullptr, path, ": nothing makes the output ", printable(info.name));
    graph->mark_output(value, info.name);
  }
  graph->remove_dead_nodes();
  return graph;
}

}  // namespace thalweg::onnx

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/exporter.h"
#include "formats/onnx/model_writer.h"
#include "thalweg/onnx.h"
#include "thalweg/passes.h"

namespace thalweg::onnx {
namespace {

constexpr int64_t kIrVersion = 10;

/// Calls `use` with the model, whose weights are there until it returns.
template <typename Use>
void with_model(const Graph& graph, const std::function<Tensor(const std::string& name)>& weight,
                const std::map<std::string, std::string>& metadata, Use&& use) {
  const std::unique_ptr<Graph> inference = graph.clone();
  to_inference(*inference);
  Exporter exporter(*inference, weight);
  ModelProto model;
  model.graph = exporter.run();
  model.ir_version = kIrVersion;
  model.producer_name = "Thalweg";
  model.opset_import = {{"", kWrittenOpset}};
  model.metadata_props.assign(metadata.begin(), metadata.end());
  use(std::move(model));
}

}  // namespace

void save(const Graph& graph, const std::function<Tensor(const std::string& name)>& weight, const std::string& path,
          const std::map<std::string, std::string>& metadata) {
  with_model(graph, weight, metadata, [&](ModelProto model) { write_model(std::move(model), path); });
}

Tensor to_bytes(const Graph& graph, const std::function<Tensor(const std::string& name)>& weight,
                const std::map<std::string, std::string>& metadata) {
  Tensor bytes;
  with_model(graph, weight, metadata, [&](const ModelProto& model) { bytes = model_bytes(model); });
  return bytes;
}

}  // namespace thalweg::onnx

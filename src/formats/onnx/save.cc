// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/exporter.h"
#include "formats/onnx/model_writer.h"
#include "thalweg/onnx.h"
#include "thalweg/passes.h"

namespace thalweg::onnx {
namespace {

constexpr int64_t kOpset = 21;
constexpr int64_t kIrVersion = 10;
}  // namespace

void save(const Graph& graph, const std::function<Tensor(const std::string& name)>& weight, const std::string& path,
          const std::map<std::string, std::string>& metadata) {
  const std::unique_ptr<Graph> inference = graph.clone();
  to_inference(*inference);
  Exporter exporter(*inference, weight);
  ModelProto model;
  model.graph = exporter.run();
  model.ir_version = kIrVersion;
  model.producer_name = "Thalweg";
  model.opset_import = {{"", kOpset}};
  model.metadata_props.assign(metadata.begin(), metadata.end());
  write_model(std::move(model), path);
}

}  // namespace thalweg::onnx

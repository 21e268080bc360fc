// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "base/atomic_file.h"
#include "formats/onnx/exporter.h"
#include "formats/onnx/proto_writer.h"
#include "thalweg/onnx.h"
#include "thalweg/passes.h"

namespace thalweg::onnx {
namespace {

constexpr int64_t kOpset = 21;
constexpr int64_t kIrVersion = 10;
/// Readers that use libprotobuf take less than 2 GiB; something is left for what is not weights.
constexpr uint64_t kMostInOneFile = 2'000'000'000;
/// Page size: readers can then map each tensor by itself.
constexpr uint64_t kAlignment = 4096;

/// Writes the contents to a file of their own, and makes the initialisers point there.
void move_outside(GraphProto& graph, const std::string& path) {
  AtomicFile file(path);
  uint64_t offset = 0;
  for (TensorProto& tensor : graph.initializer) {
    const std::string padding((kAlignment - offset % kAlignment) % kAlignment, '\0');
    file.write(padding.data(), padding.size());
    offset += padding.size();
    file.write(tensor.raw_data.data(), tensor.raw_data.size());
    tensor.external = true;
    tensor.has_raw_data = false;
    tensor.external_data = {{"location", std::filesystem::path(path).filename().string()},
                            {"offset", std::to_string(offset)},
                            {"length", std::to_string(tensor.raw_data.size())}};
    offset += tensor.raw_data.size();
  }
  file.commit();
}

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
  uint64_t bytes = 0;
  for (const TensorProto& tensor : model.graph.initializer) bytes += tensor.raw_data.size();
  if (bytes > kMostInOneFile) move_outside(model.graph, path + ".data");
  AtomicFile file(path);
  serialize(model).emit([&](std::string_view piece) { file.write(piece.data(), piece.size()); });
  file.commit();
}

}  // namespace thalweg::onnx

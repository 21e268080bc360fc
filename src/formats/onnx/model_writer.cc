// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/model_writer.h"

#include <algorithm>
#include <filesystem>

#include "base/atomic_file.h"
#include "formats/onnx/proto_writer.h"
#include "thalweg/error.h"

namespace thalweg::onnx {
namespace {

/// Readers that use libprotobuf take less than 2 GiB; something is left for what is not weights.
constexpr uint64_t kMostInOneFile = 2'000'000'000;
/// Page size: readers can then map each tensor by itself.
constexpr uint64_t kAlignment = 4096;

/// Writes the contents to a file of their own, and makes the initialisers point there.
void move_outside(GraphProto& graph, const std::string& path) {
  AtomicFile file(path);
  uint64_t offset = 0;
  for (TensorProto& tensor : graph.initializer) {
    if (!tensor.has_raw_data) continue;
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

uint64_t content_bytes(const ModelProto& model) {
  uint64_t bytes = 0;
  for (const TensorProto& tensor : model.graph.initializer) bytes += tensor.raw_data.size();
  return bytes;
}

}  // namespace

void write_model(ModelProto model, const std::string& path) {
  if (content_bytes(model) > kMostInOneFile) move_outside(model.graph, path + ".data");
  AtomicFile file(path);
  serialize(model).emit([&](std::string_view piece) { file.write(piece.data(), piece.size()); });
  file.commit();
}

Tensor model_bytes(const ModelProto& model) {
  const uint64_t content = content_bytes(model);
  TW_REQUIRE(content <= kMostInOneFile, "the model has weights of ", content, " bytes, more than ", kMostInOneFile,
             ", the most that one ONNX message can carry: save it as files");
  const WireWriter message = serialize(model);
  Tensor bytes(DType::kU8, {static_cast<int64_t>(message.size())});
  char* next = static_cast<char*>(bytes.raw());
  message.emit([&](std::string_view piece) { next = std::copy(piece.begin(), piece.end(), next); });
  return bytes;
}

}  // namespace thalweg::onnx

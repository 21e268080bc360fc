// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "formats/onnx/proto.h"
#include "formats/onnx/proto_writer.h"

namespace thalweg::testing {

inline std::string bytes_of(const onnx::ModelProto& model) {
  std::string bytes;
  onnx::serialize(model).emit([&](std::string_view piece) { bytes += piece; });
  return bytes;
}

inline onnx::ValueInfoProto value_info(const std::string& name, const std::vector<int64_t>& dims,
                                       onnx::DataType type = onnx::DataType::kFloat) {
  onnx::ValueInfoProto info{name, {}};
  info.type.kind = onnx::TypeProto::Kind::kTensor;
  info.type.elem_type = type;
  info.type.has_shape = true;
  for (const int64_t dim : dims) info.type.shape.push_back({dim, dim < 0 ? "N" : ""});
  return info;
}

/// y = relu(x + b), with x f32 [N, 2] and b in raw bytes.
inline onnx::ModelProto small_model() {
  static const float bias[2] = {1.0F, -2.0F};
  onnx::ModelProto model;
  model.ir_version = 8;
  model.opset_import = {{"", 17}};
  model.metadata_props = {{"author", "a test"}};
  model.graph.name = "small";
  model.graph.input = {value_info("x", {-1, 2})};
  model.graph.output = {value_info("y", {-1, 2})};
  onnx::TensorProto b;
  b.name = "b";
  b.dims = {2};
  b.data_type = onnx::DataType::kFloat;
  b.has_raw_data = true;
  b.raw_data = {reinterpret_cast<const char*>(bias), sizeof bias};
  model.graph.initializer = {b};
  model.graph.node = {{"sum", "Add", "", "", {"x", "b"}, {"s"}, {}}, {"positive", "Relu", "", "", {"s"}, {"y"}, {}}};
  return model;
}

}  // namespace thalweg::testing

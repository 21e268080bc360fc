// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <set>

#include "base/mapped_file.h"
#include "formats/onnx/proto_reader.h"
#include "thalweg/onnx.h"

namespace thalweg::onnx {
namespace {

class ExternalFiles {
 public:
  void look_at(const ModelProto& model) {
    look_at(model.graph);
    for (const FunctionProto& function : model.functions) look_at(function.node);
  }
  std::vector<std::string> names() const { return {names_.begin(), names_.end()}; }

 private:
  void look_at(const GraphProto& graph) {
    for (const TensorProto& tensor : graph.initializer) look_at(tensor);
    look_at(graph.node);
  }
  void look_at(const std::vector<NodeProto>& nodes) {
    for (const NodeProto& node : nodes) {
      for (const AttributeProto& attribute : node.attribute) {
        if (attribute.t != nullptr) look_at(*attribute.t);
        if (attribute.g != nullptr) look_at(*attribute.g);
      }
    }
  }
  void look_at(const TensorProto& tensor) {
    if (!tensor.external) return;
    for (const auto& [key, value] : tensor.external_data) {
      if (key == "location") names_.insert(value);
    }
  }

  std::set<std::string> names_;
};

}  // namespace

std::vector<std::string> external_files(const std::string& path) {
  const MappedFile file(path);
  ExternalFiles found;
  try {
    found.look_at(parse_model(file.text(), path));
  } catch (const Error&) {
    return {};
  }
  return found.names();
}

}  // namespace thalweg::onnx

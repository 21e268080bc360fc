// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "infer/graph_plan.h"

#include "base/text.h"
#include "formats/onnx/importer.h"
#include "infer/host_op.h"

namespace thalweg {

GraphPlan::GraphPlan(const onnx::GraphProto& proto) : graph(proto) {
  std::unordered_set<std::string> made;
  for (const onnx::TensorProto& tensor : graph.initializer) {
    TW_REQUIRE(initializers.emplace(tensor.name, &tensor).second, "two initializers are named ",
               printable(tensor.name));
    made.insert(tensor.name);
  }
  for (const onnx::ValueInfoProto& info : graph.input) {
    if (made.insert(info.name).second) inputs.push_back(&info);
  }
  for (const onnx::NodeProto& node : graph.node) {
    for (const std::string& output : node.output) {
      TW_REQUIRE(output.empty() || made.insert(output).second, onnx::describe(node), ": something else makes ",
                 printable(output), " as well");
    }
  }
  std::unordered_set<std::string> captured;
  const auto read = [&](const std::string& name) {
    if (!name.empty() && made.count(name) == 0 && captured.insert(name).second) captures.push_back(name);
  };
  for (const onnx::NodeProto& node : graph.node) {
    std::vector<std::string> names;
    for (const std::string& input : node.input) {
      if (!input.empty()) names.push_back(input);
    }
    for (const onnx::AttributeProto& attribute : node.attribute) {
      if (attribute.g == nullptr) continue;
      for (const std::string& name : GraphPlan(*attribute.g).captures) names.push_back(name);
    }
    for (const std::string& name : names) read(name);
    reads.push_back(std::move(names));
  }
  for (const onnx::ValueInfoProto& info : graph.output) read(info.name);
}

void UnsupportedNodes::add(const onnx::NodeProto& node, const std::string& reason) {
  lines.push_back(onnx::describe(node) + ": " + reason);
}

void UnsupportedNodes::raise_error(const std::string& where) const {
  raise(where, ": ", lines.size(), lines.size() == 1 ? " node is" : " nodes are", " not supported:\n  ",
        join(lines, "\n  "));
}

namespace {

void collect(const onnx::GraphProto& graph, UnsupportedNodes& unsupported) {
  for (const onnx::NodeProto& node : graph.node) {
    if (onnx::find_converter(node.domain, node.op_type) == nullptr &&
        find_host_op(node.domain, node.op_type) == nullptr) {
      unsupported.add(node, "there is no such operator here");
    }
    for (const onnx::AttributeProto& attribute : node.attribute) {
      if (attribute.g != nullptr) collect(*attribute.g, unsupported);
    }
  }
}

}  // namespace

void require_supported(const onnx::ModelFile& model) {
  UnsupportedNodes unsupported;
  collect(model.proto.graph, unsupported);
  if (!unsupported.lines.empty()) unsupported.raise_error(model.name);
}

}  // namespace thalweg

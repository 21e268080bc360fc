// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/functions.h"

#include <map>
#include <tuple>

#include "base/text.h"
#include "formats/onnx/model_file.h"

namespace thalweg::onnx {
namespace {

/// A few short functions that call each other can ask for any number of nodes.
constexpr size_t kMaxNodes = 1'000'000;
constexpr int kMaxDepth = 50;

using FunctionKey = std::tuple<std::string, std::string, std::string>;
using Names = std::map<std::string, std::string>;
using Arguments = std::map<std::string, const AttributeProto*>;

class Inliner {
 public:
  Inliner(const ModelProto& model, const std::string& where) : where_(where) {
    for (const FunctionProto& function : model.functions) {
      functions_[{normal_domain(function.domain), function.name, function.overload}] = &function;
    }
  }

  void expand(std::vector<NodeProto>& nodes, int depth) {
    TW_REQUIRE(depth <= kMaxDepth, where_, ": functions call each other more than ", kMaxDepth, " deep");
    std::vector<NodeProto> result;
    for (NodeProto& node : nodes) {
      for (AttributeProto& attribute : node.attribute) {
        if (attribute.g != nullptr) expand(attribute.g->node, depth);
      }
      const auto found = functions_.find({normal_domain(node.domain), node.op_type, node.overload});
      if (found == functions_.end()) {
        count(1);
        result.push_back(std::move(node));
        continue;
      }
      std::vector<NodeProto> body = instantiate(*found->second, node);
      expand(body, depth + 1);
      for (NodeProto& item : body) result.push_back(std::move(item));
    }
    nodes = std::move(result);
  }

 private:
  void count(size_t nodes) {
    nodes_ += nodes;
    TW_REQUIRE(nodes_ <= kMaxNodes, where_, ": its functions expand to more than ", kMaxNodes, " nodes");
  }

  /// The body with the caller's names for inputs and outputs, and names of its own for everything else.
  std::vector<NodeProto> instantiate(const FunctionProto& function, const NodeProto& call) {
    count(function.node.size());
    const std::string prefix = function.name + "#" + std::to_string(calls_++) + "/";
    Names names = {{"", ""}};
    for (size_t i = 0; i < function.input.size(); ++i) {
      names[function.input[i]] = i < call.input.size() ? call.input[i] : "";
    }
    for (size_t i = 0; i < function.output.size() && i < call.output.size(); ++i) {
      if (!call.output[i].empty()) names[function.output[i]] = call.output[i];
    }
    Arguments arguments;
    for (const AttributeProto& attribute : function.attribute_proto) arguments[attribute.name] = &attribute;
    for (const AttributeProto& attribute : call.attribute) arguments[attribute.name] = &attribute;
    std::vector<NodeProto> body;
    for (const NodeProto& node : function.node) {
      body.push_back(rename(node, prefix, names, arguments));
      body.back().name = call.name + "/" + body.back().name;
    }
    return body;
  }

  static std::string renamed(const std::string& name, const std::string& prefix, const Names& names) {
    const auto found = names.find(name);
    return found != names.end() ? found->second : prefix + name;
  }

  NodeProto rename(const NodeProto& node, const std::string& prefix, const Names& names, const Arguments& arguments) {
    NodeProto result = node;
    for (std::string& input : result.input) input = renamed(input, prefix, names);
    for (std::string& output : result.output) output = renamed(output, prefix, names);
    result.attribute.clear();
    for (const AttributeProto& attribute : node.attribute) {
      if (!attribute.ref_attr_name.empty()) {
        const auto argument = arguments.find(attribute.ref_attr_name);
        if (argument == arguments.end()) continue;
        result.attribute.push_back(*argument->second);
        result.attribute.back().name = attribute.name;
        continue;
      }
      result.attribute.push_back(attribute);
      if (attribute.g != nullptr) result.attribute.back().g = rename(*attribute.g, prefix, names, arguments);
    }
    return result;
  }

  std::shared_ptr<GraphProto> rename(const GraphProto& graph, const std::string& prefix, const Names& names,
                                     const Arguments& arguments) {
    count(graph.node.size());
    auto result = std::make_shared<GraphProto>(graph);
    for (ValueInfoProto& info : result->input) info.name = renamed(info.name, prefix, names);
    for (ValueInfoProto& info : result->output) info.name = renamed(info.name, prefix, names);
    for (TensorProto& tensor : result->initializer) tensor.name = renamed(tensor.name, prefix, names);
    for (NodeProto& node : result->node) node = rename(node, prefix, names, arguments);
    return result;
  }

  const std::string& where_;
  std::map<FunctionKey, const FunctionProto*> functions_;
  size_t nodes_ = 0;
  size_t calls_ = 0;
};

}  // namespace

void inline_functions(ModelProto& model, const std::string& where) {
  if (model.functions.empty()) return;
  Inliner(model, where).expand(model.graph.node, 0);
  model.functions.clear();
}

}  // namespace thalweg::onnx

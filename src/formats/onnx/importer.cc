// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/importer.h"

#include <algorithm>

#include "base/text.h"
#include "graph/op_registry.h"
#include "ops/ids.h"
#include "thalweg/passes.h"

namespace thalweg::onnx {
namespace {

/// Larger results are left to the runtime, which computes them once as well, with fast kernels.
constexpr int64_t kMaxFoldedElements = int64_t{1} << 16;

bool is_constant(const Value* value) { return value == nullptr || value->kind() == Value::Kind::kConstant; }

bool foldable(const Node& node) {
  // Kernels for integers want the weights as they were.
  if (node.op_name() == op::kDequantize && node.output()->shape().rank() >= 2) return false;
  if (node.op().impure || !std::all_of(node.inputs().begin(), node.inputs().end(), is_constant)) return false;
  return std::all_of(node.outputs().begin(), node.outputs().end(), [](const Value* value) {
    return value->shape().is_static() && value->shape().num_elements() <= kMaxFoldedElements;
  });
}

}  // namespace

std::string describe(const NodeProto& node) {
  std::string text = (node.domain.empty() ? "" : node.domain + ".") + node.op_type;
  if (!node.name.empty()) return text + " " + printable(node.name);
  return text + (node.output.empty() ? "" : " making " + printable(node.output[0]));
}

Value* Importer::find(const std::string& name) {
  const auto found = values_.find(name);
  if (found != values_.end()) return found->second;
  Value* value = source_.define(name, graph_);
  if (value != nullptr) values_[name] = value;
  return value;
}

Tensor Importer::known_content(const std::string& name) {
  Value* value = find(name);
  if (value == nullptr) return {};
  if (value->kind() == Value::Kind::kConstant) return value->data();
  if (value->kind() == Value::Kind::kComputed) return {};
  Tensor content = source_.content(value);
  if (content.defined()) values_[name] = graph_.constant(content);
  return content;
}

bool Importer::is_known(const std::string& name) { return known_content(name).defined(); }

Tensor Importer::content(const std::string& name) {
  Tensor content = known_content(name);
  if (!content.defined()) throw ContentNeeded{};
  return content;
}

/// Replaces nodes from `first_node` on whose inputs are constant by their results.
void Importer::fold(size_t first_node, std::vector<Value*>& results) {
  std::unordered_map<const Value*, Value*> folded;
  const auto replaced = [&](Value* value) {
    const auto found = folded.find(value);
    return found != folded.end() ? found->second : value;
  };
  for (size_t i = first_node; i < graph_.nodes().size(); ++i) {
    Node* node = graph_.nodes()[i].get();
    std::vector<Value*> inputs = node->inputs();
    std::transform(inputs.begin(), inputs.end(), inputs.begin(), replaced);
    graph_.set_inputs(node, inputs);
    std::vector<Tensor> outputs;
    if (!foldable(*node) || !evaluate(*node, outputs)) continue;
    for (size_t o = 0; o < outputs.size(); ++o) folded[node->output(o)] = graph_.constant(outputs[o]);
  }
  std::transform(results.begin(), results.end(), results.begin(), replaced);
}

Importer::Outcome Importer::convert(const NodeProto& node, std::string& problem) {
  const Converter* converter = find_converter(node.domain, node.op_type);
  if (converter == nullptr) {
    problem = "there is no such operator here";
    return Outcome::kUnsupported;
  }
  for (const std::string& input : node.input) {
    if (!input.empty() && find(input) == nullptr) return Outcome::kNotReady;
  }
  const size_t first_node = graph_.nodes().size();
  std::vector<Value*> results;
  try {
    results = (*converter)(NodeContext(*this, node, model_.opset(node.domain)));
    fold(first_node, results);
  } catch (const ContentNeeded&) {
    return Outcome::kNeedsContent;
  } catch (const Error& error) {
    problem = error.what();
    return Outcome::kUnsupported;
  }
  for (size_t i = 0; i < node.output.size(); ++i) {
    if (node.output[i].empty()) continue;
    if (i >= results.size() || results[i] == nullptr) {
      problem = "its output " + std::to_string(i) + " is not supported";
      return Outcome::kUnsupported;
    }
    values_[node.output[i]] = results[i];
  }
  return Outcome::kConverted;
}

}  // namespace thalweg::onnx

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "infer/tracer.h"

#include <algorithm>

#include "base/text.h"
#include "infer/host_op.h"

namespace thalweg {
namespace {

/// Smaller initialisers are constants, which may be folded into what reads them.
constexpr int64_t kSmallestWeight = 64;

}  // namespace

bool is_weight(const onnx::TensorProto& tensor) {
  const auto dtype = onnx::dtype_of(tensor.data_type);
  if (!dtype.has_value() || !is_floating(*dtype) || tensor.name.empty()) return false;
  int64_t count = 1;
  for (const int64_t dim : tensor.dims) {
    if (dim <= 0) return false;
    if (count < kSmallestWeight) count *= std::min(dim, kSmallestWeight);
  }
  return count >= kSmallestWeight;
}

Tracer::Tracer(const onnx::ModelFile& model, const GraphPlan& plan, const Variables& variables,
               const Environment& environment, const std::vector<bool>& done)
    : model_(model),
      plan_(plan),
      variables_(variables),
      environment_(environment),
      trace_{std::make_unique<Graph>(plan.graph.name.empty() ? "model" : plan.graph.name), {}, {}, {}, {}, {}, done},
      importer_(model, *trace_.graph, *this),
      for_host_(done.size(), false) {}

Value* Tracer::define(const std::string& name, Graph& graph) {
  const auto given = environment_.find(name);
  if (given != environment_.end()) {
    trace_.inputs.push_back(name);
    return graph.input(name, given->second.type());
  }
  const auto initializer = plan_.initializers.find(name);
  if (initializer == plan_.initializers.end()) return nullptr;
  const onnx::TensorProto& proto = *initializer->second;
  if (is_weight(proto) && variables_.contains(name)) {
    return graph.held_parameter(name, {*onnx::dtype_of(proto.data_type), Shape(proto.dims)});
  }
  return graph.constant(model_.tensor(proto));
}

Tensor Tracer::content(const Value* value) {
  if (value->kind() == Value::Kind::kParameter) return model_.tensor(*plan_.initializers.at(value->name()));
  if (std::find(trace_.contents.begin(), trace_.contents.end(), value->name()) == trace_.contents.end()) {
    trace_.contents.push_back(value->name());
  }
  return environment_.at(value->name());
}

bool Tracer::is_given(const std::string& name) const {
  return environment_.count(name) > 0 || plan_.initializers.count(name) > 0;
}

Trace Tracer::run() {
  convert_nodes();
  choose_host_nodes();
  choose_outputs();
  trace_.graph->remove_dead_nodes();
  return std::move(trace_);
}

void Tracer::convert_nodes() {
  using Outcome = onnx::Importer::Outcome;
  UnsupportedNodes unsupported;
  // ONNX asks for an order in which one pass suffices, but not all writers keep to it.
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t i = 0; i < plan_.graph.node.size(); ++i) {
      const onnx::NodeProto& node = plan_.graph.node[i];
      if (trace_.done[i] || for_host_[i]) continue;
      std::string problem;
      const Outcome outcome = importer_.convert(node, problem);
      if (outcome == Outcome::kConverted) {
        trace_.done[i] = progress = true;
      } else if (outcome == Outcome::kUnsupported) {
        for_host_[i] = true;
        if (find_host_op(node.domain, node.op_type) == nullptr) unsupported.add(node, problem);
      }
    }
  }
  if (!unsupported.lines.empty()) unsupported.raise_error(model_.name);
}

void Tracer::choose_host_nodes() {
  for (size_t i = 0; i < plan_.graph.node.size(); ++i) {
    const std::vector<std::string>& reads = plan_.reads[i];
    if (for_host_[i] && std::all_of(reads.begin(), reads.end(),
                                    [&](const std::string& name) { return importer_.find(name) != nullptr; })) {
      trace_.host_nodes.push_back(i);
    }
  }
}

void Tracer::choose_outputs() {
  std::unordered_set<std::string> seen;
  const auto need = [&](const std::string& name) {
    if (is_given(name) || !seen.insert(name).second) return;
    Value* value = importer_.find(name);
    if (value == nullptr) return;
    if (value->kind() == Value::Kind::kConstant) {
      trace_.known.emplace_back(name, value->data());
    } else {
      trace_.graph->mark_output(value);
      trace_.outputs.push_back(name);
    }
  };
  for (size_t i = 0; i < plan_.graph.node.size(); ++i) {
    if (trace_.done[i]) continue;
    for (const std::string& name : plan_.reads[i]) need(name);
  }
  for (const onnx::ValueInfoProto& info : plan_.graph.output) need(info.name);
  // Nobody asks for a trace unless a result is missing: one that makes nothing new would be asked for again forever.
  if (trace_.outputs.empty() && trace_.known.empty() && trace_.host_nodes.empty()) fail_stuck();
  for (const size_t node : trace_.host_nodes) trace_.done[node] = true;
}

void Tracer::fail_stuck() const {
  for (size_t i = 0; i < plan_.graph.node.size(); ++i) {
    if (trace_.done[i]) continue;
    raise(model_.name, ": ", onnx::describe(plan_.graph.node[i]),
          " reads a value that nothing makes, or that depends on its own result");
  }
  raise(model_.name, ": an output of the graph is made by no node");
}

}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/exporter.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/text.h"
#include "formats/onnx/graph_attributes.h"
#include "formats/onnx/one_to_one.h"
#include "formats/onnx/tensor_data.h"
#include "formats/onnx/training_form.h"
#include "graph/compose.h"
#include "graph/host_op.h"
#include "thalweg/stored_types.h"

namespace thalweg::onnx {
namespace {

std::map<std::string, NodeWriter>& registry() {
  static std::map<std::string, NodeWriter> writers;
  return writers;
}

AttributeProto attribute(const std::string& name, AttributeProto::Type type) {
  AttributeProto proto;
  proto.name = name;
  proto.type = type;
  return proto;
}

/// Free dimensions have names: the first is the batch.
ValueInfoProto describe_value(const std::string& name, const Value& value) {
  ValueInfoProto info{name, {}};
  if (!value.typed()) return info;
  const TensorType& type = value.type();
  info.type.kind = TypeProto::Kind::kTensor;
  info.type.elem_type = data_type_of(type.dtype);
  info.type.has_shape = true;
  for (int d = 0; d < type.shape.rank(); ++d) {
    const bool known = type.shape[d] != kFree;
    info.type.shape.push_back({type.shape[d], known ? "" : d == 0 ? "N" : name + "_" + std::to_string(d)});
  }
  return info;
}

/// An attribute as ONNX has it; nothing for those that only graphs have.
std::optional<AttributeProto> to_proto(Exporter& exporter, const Node& node, const std::string& name,
                                       const Attributes::Item& item) {
  if (only_graphs_have(name)) return std::nullopt;
  using Type = AttributeProto::Type;
  AttributeProto proto;
  proto.name = name;
  struct Visitor {
    Exporter& exporter;
    const Node& node;
    AttributeProto& proto;
    void operator()(int64_t value) const { proto = integer_attribute(proto.name, value); }
    void operator()(double value) const { (*this)(std::vector<double>{value}, {}); }
    void operator()(const std::string& value) const { proto = text_attribute(proto.name, value); }
    void operator()(const std::vector<int64_t>& values) const { proto = integers_attribute(proto.name, values); }
    void operator()(const std::vector<double>& values) const { (*this)(values, {static_cast<int64_t>(values.size())}); }
    /// ONNX's attributes are of f32; what that cannot hold is a tensor, under a name that says so.
    void operator()(const std::vector<double>& values, const Shape& shape) const {
      const bool fits = std::all_of(values.begin(), values.end(), [](double value) {
        return std::isnan(value) || static_cast<double>(static_cast<float>(value)) == value;
      });
      if (node.op().infer && !fits) {
        proto.name += kDoubleSuffix;
        return (*this)(Tensor::from<double>(shape, values));
      }
      if (shape.rank() == 0) {
        proto = real_attribute(proto.name, values[0]);
        return;
      }
      proto.type = Type::kFloats;
      proto.floats.assign(values.begin(), values.end());
    }
    void operator()(const std::vector<std::string>& values) const {
      proto.type = Type::kStrings;
      proto.strings = values;
    }
    void operator()(const Tensor& value) const {
      proto.type = Type::kTensor;
      proto.t = std::make_shared<TensorProto>(exporter.tensor_proto("", value));
    }
    void operator()(const std::shared_ptr<Graph>& /*value*/) const {
      proto.type = Type::kGraph;
      proto.g = std::make_shared<GraphProto>(exporter.run_body(node, proto.name));
    }
  };
  std::visit(Visitor{exporter, node, proto}, item);
  return proto;
}

/// A node of an operator that ONNX has, as it was read; or one of our own ops, for ourselves.
void write_as_it_is(Exporter& exporter, const Node& node) {
  const std::string op = node.op().infer ? std::string(kOwnDomain) + "." + node.op_name() : node.op_name();
  const size_t dot = op.rfind('.');
  std::vector<std::string> inputs;
  const size_t own_inputs = node.inputs().size() - static_cast<size_t>(node.attrs().integer(kCaptures));
  for (size_t i = 0; i < own_inputs; ++i) inputs.push_back(exporter.name(node.input(i)));
  std::vector<AttributeProto> attributes;
  for (const auto& [name, item] : node.attrs().items()) {
    if (auto proto = to_proto(exporter, node, name, item)) attributes.push_back(std::move(*proto));
  }
  const std::string domain = op.substr(0, dot);
  exporter.emit_outputs({node.outputs().begin(), node.outputs().end()}, op.substr(dot + 1), inputs, attributes,
                        domain == "onnx" ? "" : domain, node.name());
}

}  // namespace

AttributeProto integer_attribute(const std::string& name, int64_t value) {
  AttributeProto proto = attribute(name, AttributeProto::Type::kInt);
  proto.i = value;
  return proto;
}

AttributeProto real_attribute(const std::string& name, double value) {
  AttributeProto proto = attribute(name, AttributeProto::Type::kFloat);
  proto.f = static_cast<float>(value);
  return proto;
}

AttributeProto text_attribute(const std::string& name, const std::string& value) {
  AttributeProto proto = attribute(name, AttributeProto::Type::kString);
  proto.s = value;
  return proto;
}

AttributeProto integers_attribute(const std::string& name, const std::vector<int64_t>& values) {
  AttributeProto proto = attribute(name, AttributeProto::Type::kInts);
  proto.ints = values;
  return proto;
}

RegisterWriters::RegisterWriters(std::initializer_list<std::pair<OpId, NodeWriter>> writers) {
  for (const auto& [op, writer] : writers) {
    TW_REQUIRE(registry().emplace(op, writer).second, "two ONNX writers for ", op.name);
  }
}

std::string Exporter::unique(const std::string& wanted) {
  std::string name = wanted.empty() ? "value" : wanted;
  for (int i = 1; !used_.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
  return name;
}

std::string Exporter::name(const Value* value) {
  if (value == nullptr) return "";
  const auto [entry, fresh] = names_.try_emplace(value);
  if (fresh) entry->second = unique(value->name());
  const std::string name = entry->second;
  const bool given = value->kind() == Value::Kind::kComputed || value->kind() == Value::Kind::kInput;
  if (!given && written_.insert(value).second) add_initializer(name, content(value));
  return name;
}

Tensor Exporter::content(const Value* value) {
  switch (value->kind()) {
    case Value::Kind::kConstant: return value->data();
    case Value::Kind::kParameter:
    case Value::Kind::kState: return weight_(value->name());
    default: raise("'", value->name(), "' must be a weight or a constant to be written");
  }
}

TensorProto Exporter::tensor_proto(const std::string& name, const Tensor& tensor) {
  TensorProto proto;
  proto.name = name;
  proto.dims = tensor.shape().dims();
  proto.data_type = data_type_of(tensor.dtype());
  if (tensor.dtype() == stored::kText) {
    const std::string* first = stored::texts_of(tensor);
    proto.string_data.assign(first, first + tensor.num_elements());
    return proto;
  }
  proto.has_raw_data = true;
  if (const Tensor packed = packed_bytes(tensor); packed.defined()) {
    proto.raw_data = {static_cast<const char*>(packed.raw()), packed.num_bytes()};
    tensors_.push_back(packed);
    return proto;
  }
  proto.raw_data = {static_cast<const char*>(tensor.raw()), tensor.num_bytes()};
  tensors_.push_back(tensor);
  return proto;
}

void Exporter::add_initializer(const std::string& name, const Tensor& tensor) {
  proto_.initializer.push_back(tensor_proto(name, tensor));
}

std::string Exporter::constant(const Tensor& tensor, const std::string& hint) {
  const std::string name = unique(hint);
  add_initializer(name, tensor);
  return name;
}

std::string Exporter::integers(const std::vector<int64_t>& values) {
  return constant(Tensor::from<int64_t>({static_cast<int64_t>(values.size())}, values), "integers");
}

std::string Exporter::number(const Value* like, double value) {
  return constant(Tensor::scalar<double>(value).to(like->dtype()), "number");
}

void Exporter::emit_outputs(const std::vector<const Value*>& outputs, const std::string& op_type,
                            const std::vector<std::string>& inputs, const std::vector<AttributeProto>& attributes,
                            const std::string& domain, const std::string& node_name) {
  NodeProto node;
  node.domain = domain;
  for (const Value* output : outputs) node.output.push_back(name(output));
  node.name = node_name.empty() ? node.output[0] : node_name;
  node.op_type = op_type;
  node.input = inputs;
  while (!node.input.empty() && node.input.back().empty()) node.input.pop_back();
  node.attribute = attributes;
  proto_.node.push_back(std::move(node));
}

void Exporter::emit(const Value* output, const std::string& op_type, const std::vector<std::string>& inputs,
                    const std::vector<AttributeProto>& attributes) {
  emit_outputs({output}, op_type, inputs, attributes);
}

std::vector<std::string> Exporter::emit_many(const std::string& op_type, const std::vector<std::string>& inputs,
                                             size_t num_outputs, const std::vector<AttributeProto>& attributes) {
  NodeProto node;
  for (size_t i = 0; i < num_outputs; ++i) node.output.push_back(unique(op_type));
  node.name = node.output[0];
  node.op_type = op_type;
  node.input = inputs;
  while (!node.input.empty() && node.input.back().empty()) node.input.pop_back();
  node.attribute = attributes;
  proto_.node.push_back(node);
  return node.output;
}

std::string Exporter::emit(const std::string& op_type, const std::vector<std::string>& inputs,
                           const std::vector<AttributeProto>& attributes) {
  return emit_many(op_type, inputs, 1, attributes)[0];
}

/// Weights keep their names: whoever trains on finds them by these.
void Exporter::name_weights() {
  for (const auto* group : {&graph_.parameters(), &graph_.states()}) {
    for (const Value* weight : *group) {
      if (names_.count(weight) == 0) names_[weight] = unique(weight->name());
      // Those that nothing reads are only assigned to.
      if (form_ == Form::kExact) name(weight);
    }
  }
  if (form_ != Form::kExact) return;
  for (const Value* constant : graph_.constants()) name(constant);
}

/// Outputs keep their names, whatever else has one of them. What is no result of a node is copied by one.
void Exporter::name_outputs() {
  for (const Value* output : graph_.outputs()) {
    if (output->kind() == Value::Kind::kComputed && names_.count(output) == 0) names_[output] = unique(output->name());
  }
}

/// Why nodes cannot be written, a line each.
std::vector<std::string> Exporter::write_nodes() {
  std::vector<std::string> problems;
  for (const auto& node : graph_.nodes()) {
    const auto found = registry().find(node->op_name());
    try {
      if (!node->op().infer || form_ == Form::kExact) {
        write_as_it_is(*this, *node);
        continue;
      }
      const NodeWriter writer = found != registry().end() ? found->second : one_to_one_writer(node->op());
      TW_REQUIRE(writer != nullptr, "ONNX has no such operator, or it is not written yet");
      writer(*this, *node);
    } catch (const Error& error) {
      problems.push_back(describe(*node) + ": " + error.what());
    }
  }
  return problems;
}

GraphProto Exporter::run() {
  proto_.name = graph_.name();
  for (const Value* input : graph_.inputs()) {
    // What is captured has the name that it has outside, and is no input.
    if (names_.count(input) > 0) continue;
    names_[input] = unique(input->name());
    proto_.input.push_back(describe_value(names_[input], *input));
  }
  name_weights();
  name_outputs();
  const std::vector<std::string> problems = write_nodes();
  TW_REQUIRE(problems.empty(), "graph '", graph_.name(), "' cannot be written as ONNX:\n  ", join(problems, "\n  "));
  std::unordered_set<std::string> listed;
  for (const Value* output : graph_.outputs()) {
    std::string made = name(output);
    if (output->kind() != Value::Kind::kComputed || !listed.insert(made).second) made = emit("Identity", {made});
    proto_.output.push_back(describe_value(made, *output));
  }
  return std::move(proto_);
}

GraphProto Exporter::run_body(const Node& node, const std::string& attribute) {
  const std::shared_ptr<Graph> body = node.attrs().graph(attribute);
  const std::vector<int64_t> places = node.attrs().integers(attribute + kCapturesOf);
  Exporter inner(*body, weight_, form_);
  // Names of the graph around it must not be taken for its own.
  inner.used_ = used_;
  const size_t own_inputs = body->inputs().size() - places.size();
  for (size_t i = 0; i < places.size(); ++i) {
    inner.names_[body->inputs()[own_inputs + i]] = name(node.input(static_cast<size_t>(places[i])));
  }
  for (const Value* weight : body->parameters()) inner.names_[weight] = name(graph_.find(weight->name()));
  GraphProto proto = inner.run();
  used_ = std::move(inner.used_);
  tensors_.insert(tensors_.end(), inner.tensors_.begin(), inner.tensors_.end());
  return proto;
}

}  // namespace thalweg::onnx

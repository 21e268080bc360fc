// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/exporter.h"

#include "base/text.h"
#include "formats/onnx/one_to_one.h"
#include "formats/onnx/tensor_data.h"

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
ValueInfoProto describe_value(const std::string& name, const TensorType& type) {
  ValueInfoProto info{name, {}};
  info.type.kind = TypeProto::Kind::kTensor;
  info.type.elem_type = data_type_of(type.dtype);
  info.type.has_shape = true;
  for (int d = 0; d < type.shape.rank(); ++d) {
    const bool known = type.shape[d] != kFree;
    info.type.shape.push_back({type.shape[d], known ? "" : d == 0 ? "N" : name + "_" + std::to_string(d)});
  }
  return info;
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
  const auto known = names_.find(value);
  if (known != names_.end()) return known->second;
  const std::string made = unique(value->name());
  names_[value] = made;
  if (value->kind() != Value::Kind::kComputed) add_initializer(made, content(value));
  return made;
}

Tensor Exporter::content(const Value* value) {
  switch (value->kind()) {
    case Value::Kind::kConstant: return value->data();
    case Value::Kind::kParameter:
    case Value::Kind::kState: return weight_(value->name());
    default: raise("'", value->name(), "' must be a weight or a constant to be written");
  }
}

void Exporter::add_initializer(const std::string& name, const Tensor& tensor) {
  TensorProto proto;
  proto.name = name;
  proto.dims = tensor.shape().dims();
  proto.data_type = data_type_of(tensor.dtype());
  proto.has_raw_data = true;
  proto.raw_data = {static_cast<const char*>(tensor.raw()), tensor.num_bytes()};
  proto_.initializer.push_back(std::move(proto));
  tensors_.push_back(tensor);
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
                            const std::vector<std::string>& inputs, const std::vector<AttributeProto>& attributes) {
  NodeProto node;
  for (const Value* output : outputs) node.output.push_back(name(output));
  node.name = node.output[0];
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

/// Outputs keep their names, whatever else has one of them. What is no result of a node is copied by one.
void Exporter::name_outputs() {
  for (const Value* output : graph_.outputs()) {
    if (output->kind() == Value::Kind::kComputed && names_.count(output) == 0) names_[output] = unique(output->name());
  }
}

GraphProto Exporter::run() {
  proto_.name = graph_.name();
  for (const Value* input : graph_.inputs()) {
    names_[input] = unique(input->name());
    proto_.input.push_back(describe_value(names_[input], input->type()));
  }
  name_outputs();
  std::vector<std::string> problems;
  for (const auto& node : graph_.nodes()) {
    const auto found = registry().find(node->op_name());
    const NodeWriter writer = found != registry().end() ? found->second : one_to_one_writer(node->op());
    if (writer == nullptr) {
      problems.push_back(describe(*node) + ": ONNX has no such operator, or it is not written yet");
      continue;
    }
    try {
      writer(*this, *node);
    } catch (const Error& error) {
      problems.push_back(describe(*node) + ": " + error.what());
    }
  }
  TW_REQUIRE(problems.empty(), "graph '", graph_.name(), "' cannot be written as ONNX:\n  ", join(problems, "\n  "));
  std::unordered_set<std::string> listed;
  for (const Value* output : graph_.outputs()) {
    std::string made = name(output);
    if (output->kind() != Value::Kind::kComputed || !listed.insert(made).second) made = emit("Identity", {made});
    proto_.output.push_back(describe_value(made, output->type()));
  }
  return std::move(proto_);
}

}  // namespace thalweg::onnx

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/one_to_one.h"

namespace thalweg::onnx {
namespace {

using Kind = AttributeDef::Kind;

/// What the node says, or ONNX's default where that is another than ours.
void read_attribute(const NodeContext& context, const AttributeDef& attribute, Attributes& attrs) {
  const std::string& called = attribute.onnx_name();
  if (attribute.only_ours || !context.has_attribute(called)) {
    if (attribute.onnx_usual.has_value()) attrs.set(attribute.name, *attribute.onnx_usual);
    return;
  }
  switch (attribute.kind) {
    case Kind::kInteger:
    case Kind::kFlag: return attrs.set(attribute.name, context.integer(called, 0));
    case Kind::kReal: return attrs.set(attribute.name, context.real(called, 0.0));
    case Kind::kText: return attrs.set(attribute.name, context.text(called, ""));
    case Kind::kIntegers: return attrs.set(attribute.name, context.integers(called));
    case Kind::kReals: return attrs.set(attribute.name, context.reals(called));
    default: context.unsupported("attribute '", called, "' is of a kind that is not read");
  }
}

std::vector<Value*> convert(const NodeContext& context, const OpDef& op, const OnnxName& name) {
  context.require(!name.domain.empty() || context.opset() >= name.since, name.name, " of opset ", context.opset(),
                  " is another than that of opset ", name.since, ", which is the oldest supported");
  context.require(name.until == 0 || context.opset() <= name.until, name.name, " is supported up to opset ", name.until,
                  ", not of opset ", context.opset());
  Attributes attrs;
  for (const AttributeDef& attribute : op.attributes) read_attribute(context, attribute, attrs);
  std::vector<Value*> inputs;
  for (size_t i = 0; i < context.num_inputs(); ++i) inputs.push_back(context.optional(i));
  return context.graph().add(op.name, std::move(inputs), std::move(attrs), context.name())->outputs();
}

void write_attribute(const Node& node, const AttributeDef& attribute, std::vector<AttributeProto>& protos) {
  const std::string& called = attribute.onnx_name();
  const Attributes& attrs = node.attrs();
  if (attribute.only_ours) {
    TW_REQUIRE(!attrs.has(attribute.name), "ONNX has no '", attribute.name, "'");
    return;
  }
  switch (attribute.kind) {
    case Kind::kInteger:
    case Kind::kFlag: return protos.push_back(integer_attribute(called, attrs.integer(attribute.name)));
    case Kind::kReal: return protos.push_back(real_attribute(called, attrs.real(attribute.name)));
    case Kind::kText: return protos.push_back(text_attribute(called, attrs.text(attribute.name)));
    case Kind::kIntegers:
      if (attrs.has(attribute.name)) protos.push_back(integers_attribute(called, attrs.integers(attribute.name)));
      return;
    default: raise("attribute '", attribute.name, "' is of a kind that is not written");
  }
}

}  // namespace

Converter one_to_one_converter(const std::string& domain, const std::string& op_type) {
  const OpDef* op = op_of_onnx(domain, op_type);
  if (op == nullptr) return nullptr;
  for (const OnnxName& name : op->onnx) {
    if (name.name != op_type || name.domain != domain) continue;
    return [op, &name](const NodeContext& context) { return convert(context, *op, name); };
  }
  return nullptr;
}

NodeWriter one_to_one_writer(const OpDef& op) {
  for (const OnnxName& name : op.onnx) {
    if (!name.domain.empty() || name.since > kWrittenOpset || (name.until != 0 && name.until < kWrittenOpset)) continue;
    return [&op, &name](Exporter& exporter, const Node& node) {
      std::vector<std::string> inputs;
      for (const Value* input : node.inputs()) inputs.push_back(exporter.name(input));
      std::vector<AttributeProto> attributes;
      for (const AttributeDef& attribute : op.attributes) write_attribute(node, attribute, attributes);
      const std::vector<const Value*> outputs(node.outputs().begin(), node.outputs().end());
      exporter.emit_outputs(outputs, name.name, inputs, attributes);
    };
  }
  return nullptr;
}

}  // namespace thalweg::onnx

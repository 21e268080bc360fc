// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/one_to_one.h"

namespace thalweg::onnx {
namespace {

using Kind = AttributeDef::Kind;

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

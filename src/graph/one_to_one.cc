// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/one_to_one.h"

#include "graph/compose.h"

namespace thalweg {
namespace {

using Kind = AttributeDef::Kind;

/// What the node says, or ONNX's default where that is another than ours.
void read_attribute(const ComposeContext& context, const AttributeDef& attribute, Attributes& attrs) {
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

/// For an op that is made of others itself: its parts, for a node of it that stands in a graph of its own.
std::vector<Value*> compose(const ComposeContext& context, const OpDef& op, const std::vector<Value*>& inputs,
                            Attributes attrs) {
  Graph aside("aside");
  std::vector<Value*> given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    given.push_back(inputs[i] == nullptr ? nullptr : aside.input("input" + std::to_string(i), inputs[i]->type()));
  }
  const Node* node = aside.add(op.name, given, std::move(attrs), context.name());
  for (size_t o = 0; o < node->outputs().size(); ++o) {
    if (context.wants(o)) aside.mark_output(node->output(o));
  }
  return op.compose(ComposeContext(context.graph(), *node, inputs, context.find_content()));
}

std::vector<Value*> convert(const ComposeContext& context, const OpDef& op, const OnnxName& name) {
  context.require(!name.domain.empty() || context.opset() >= name.since, name.name, " of opset ", context.opset(),
                  " is another than that of opset ", name.since, ", which is the oldest supported");
  context.require(name.until == 0 || context.opset() <= name.until, name.name, " is supported up to opset ", name.until,
                  ", not of opset ", context.opset());
  Attributes attrs;
  for (const AttributeDef& attribute : op.attributes) read_attribute(context, attribute, attrs);
  std::vector<Value*> inputs;
  for (size_t i = 0; i < context.num_inputs(); ++i) inputs.push_back(context.optional(i));
  if (op.compose) return compose(context, op, inputs, std::move(attrs));
  return context.graph().add(op.name, std::move(inputs), std::move(attrs), context.name())->outputs();
}

}  // namespace

ComposeRule one_to_one_rule(const std::string& op, OnnxName name) {
  return [op, name = std::move(name)](const ComposeContext& context) { return convert(context, find_op(op), name); };
}

}  // namespace thalweg

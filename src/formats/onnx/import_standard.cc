// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/import_standard.h"

#include "formats/onnx/model_file.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {

std::vector<Value*> as_standard(const NodeContext& context, const std::string& op_type,
                                const std::vector<Value*>& inputs, Attributes attrs, size_t num_outputs) {
  // The node that a rule sees stands in a graph of its own.
  Graph aside("aside");
  std::vector<Value*> given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    given.push_back(inputs[i] == nullptr ? nullptr : aside.input("input" + std::to_string(i), inputs[i]->type()));
  }
  attrs.set(ComposeContext::kOpsetAttribute, kNewestOpset);
  const std::string op = op_name_of("", op_type);
  const Node* node = aside.add_untyped(op, given, std::move(attrs), num_outputs, context.name());
  for (Value* output : node->outputs()) aside.mark_output(output);
  return find_op(op).compose(ComposeContext(context.graph(), *node, inputs, context.find_content()));
}

Value* activated(const NodeContext& context, Value* x, const std::string& activation,
                 const std::vector<double>& parameters) {
  if (activation.empty()) return x;
  const char* const names[] = {"alpha", "beta"};
  Attributes attrs;
  std::vector<Value*> inputs{x};
  for (size_t i = 0; i < parameters.size() && i < 2; ++i) {
    if (activation == "Clip") {
      inputs.push_back(ops::scalar_like(x, parameters[i]));
    } else {
      attrs.set(names[i], parameters[i]);
    }
  }
  const OpDef* op = look_up_op(op_name_of("", activation));
  context.require(op != nullptr && op->compose, "activation '", activation, "' is not supported");
  return as_standard(context, activation, inputs, attrs)[0];
}

}  // namespace thalweg::onnx

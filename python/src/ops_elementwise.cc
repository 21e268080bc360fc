// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "graph/op_registry.h"
#include "ops.h"

namespace thalweg::python {
namespace {

double usual(const AttributeDef& attribute) { return std::get<double>(*attribute.usual); }

/// A function of a value and of the op's attributes, all of which are numbers.
void bind_unary(nb::module_& m, const OpDef& op) {
  const char* name = op.name.c_str();
  const char* doc = op.doc.c_str();
  const auto& given = op.attributes;
  const auto add = [&op](Value* x, Attributes attrs) {
    return x->graph().add(op.name, {x}, std::move(attrs))->output();
  };
  if (given.empty()) {
    def_op(
        m, name, [add](Value* x) { return add(x, {}); }, "x"_a, doc);
  } else if (given.size() == 1) {
    def_op(
        m, name,
        [add, &given](Value* x, double a) {
          return add(x, {{given[0].name, a}});
        },
        "x"_a, nb::arg(given[0].name.c_str()) = usual(given[0]), doc);
  } else {
    def_op(
        m, name,
        [add, &given](Value* x, double a, double b) {
          return add(x, {{given[0].name, a}, {given[1].name, b}});
        },
        "x"_a, nb::arg(given[0].name.c_str()) = usual(given[0]), nb::arg(given[1].name.c_str()) = usual(given[1]), doc);
  }
}

void bind_binary(nb::module_& m, const OpDef& op) {
  def_op(
      m, op.name.c_str(),
      [&op](Value* a, const Operand& b) {
        return a->graph().add(op.name, {a, as_value(a, b)})->output();
      },
      "a"_a, "b"_a, op.doc.c_str());
}

/// All elementwise ops of the engine whose attributes are numbers, by their names, but for those that have a function
/// already.
void bind_by_registry(nb::module_& m) {
  for (const std::string& name : op_names()) {
    const OpDef& op = find_op(name);
    const auto is_real = [](const AttributeDef& attribute) { return attribute.kind == AttributeDef::Kind::kReal; };
    const bool numbers = std::all_of(op.attributes.begin(), op.attributes.end(), is_real);
    if (!op.has(Trait::kElementwise) || op.doc.empty() || !numbers || nb::hasattr(m, name.c_str())) continue;
    if (op.max_inputs == 1) bind_unary(m, op);
    if (op.max_inputs == 2) bind_binary(m, op);
  }
}

/// PyTorch's operators of one value and numbers, each with the op that means the same.
std::map<std::string, std::string> torch_functions() {
  std::map<std::string, std::string> all;
  for (const std::string& name : op_names()) {
    const OpDef& op = find_op(name);
    if (!op.has(Trait::kElementwise) || op.max_inputs != 1) continue;
    for (const std::string& torch : op.torch) all[torch] = name;
  }
  return all;
}

Value* where(Value* condition, const Operand& a, const Operand& b) {
  const auto value_in = [](const Operand& operand) {
    const auto* value = std::get_if<Value*>(&operand);
    return value != nullptr ? *value : nullptr;
  };
  Value* like = value_in(a) != nullptr ? value_in(a) : value_in(b);
  // Where there is none to be like, numbers are f32.
  if (like == nullptr) like = ops::cast(condition, DType::kF32);
  return ops::where(condition, as_value(like, a), as_value(like, b));
}

void bind_others(nb::module_& m) {
  def_op(m, "gelu", ops::gelu, "x"_a, "approximate"_a = false);
  def_op(m, "prelu", ops::prelu, "x"_a, "slope"_a);
  def_op(
      m, "modulo", [](Value* a, const Operand& b, bool truncated) { return ops::modulo(a, as_value(a, b), truncated); },
      "a"_a, "b"_a, "truncated"_a = false);
  def_op(m, "rsub", ops::rsub, "a"_a, "b"_a, "A number minus a value.");
  def_op(m, "where", where, "condition"_a, "a"_a, "b"_a, "Numbers and arrays take the element type of the other.");
  def_op(m, "cast", ops::cast, "x"_a, "dtype"_a);
  def_op(m, "scalar_like", ops::scalar_like, "like"_a, "value"_a);
}

}  // namespace

void bind_elementwise_ops(nb::module_& ops) {
  bind_others(ops);
  bind_by_registry(ops);
}

void bind_ops(nb::module_& module) {
  auto ops = module.def_submodule("ops", R"(Builders of single operations, as the engine has them.

Each appends a node to the graph of its inputs and returns its output. Binary ops broadcast as numpy does.)");
  bind_elementwise_ops(ops);
  bind_shape_ops(ops);
  bind_detection_ops(ops);
  bind_layer_ops(ops);
  bind_quantized_ops(ops);
  bind_value_methods(module);
  module.def("torch_functions", torch_functions, "PyTorch's operators of one value, each with its function of ops.");
}

}  // namespace thalweg::python

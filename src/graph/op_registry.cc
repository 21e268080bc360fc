// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/op_registry.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "graph/meaning.h"
#include "graph/one_to_one.h"

namespace thalweg {
namespace {

// A function-local static, since ops register from static initialisers of other files.
std::map<std::string, OpDef>& registry() {
  static std::map<std::string, OpDef> ops;
  return ops;
}

}  // namespace

const TensorType& InferContext::type(size_t index) const {
  if (!has(index)) fail("input ", index, " is missing");
  return inputs_[index]->type();
}

Tensor InferContext::constant(size_t index) const {
  if (!has(index) || inputs_[index]->kind() != Value::Kind::kConstant) return {};
  return inputs_[index]->data();
}

void InferContext::require_rank(size_t index, int rank) const {
  require(shape(index).rank() == rank, "input ", index, " must have ", rank, " dimensions");
}

void InferContext::require_floating(size_t index) const {
  require(is_floating(dtype(index)), "input ", index, " must be of a floating type, not ", dtype(index));
}

int InferContext::axis(int64_t axis, int rank) const {
  require(axis >= -rank && axis < rank, "axis ", axis, " does not exist; the input has ", rank, " dimensions");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

void InferContext::fail_with(const std::string& message) const {
  std::ostringstream text;
  text << op_;
  if (!node_.empty()) text << " '" << node_ << "'";
  text << ": " << message << " (inputs:";
  for (const Value* input : inputs_) {
    if (input == nullptr) {
      text << " -";
    } else {
      text << ' ' << input->name() << ' ' << input->type();
    }
  }
  text << ')';
  throw Error(text.str());
}

namespace {

OpDef& op_without_shapes(const std::string& name) {
  OpDef& definition = registry()[name];
  if (definition.name.empty()) {
    definition.name = name;
    definition.min_inputs = 0;
    definition.max_inputs = -1;
  }
  return definition;
}

}  // namespace

RegisterOp::RegisterOp(OpDef definition) {
  const std::string name = definition.name;
  const std::vector<OnnxName> standard = definition.onnx;
  TW_REQUIRE(registry().emplace(name, std::move(definition)).second, "op '", name, "' is registered twice");
  for (const OnnxName& operator_name : standard) {
    const std::string family = operator_name.domain.empty() ? "onnx" : operator_name.domain;
    const RegisterMeaning meaning(family + "." + operator_name.name, name);
    OpDef& composed = op_without_shapes(family + "." + operator_name.name);
    if (composed.compose) continue;
    composed.compose = one_to_one_rule(name, operator_name);
    composed.composed_by_name = true;
  }
}

RegisterOp::RegisterOp(OpId op, InputCount inputs, const char* doc, InferRule infer, GradientRule gradient,
                       std::vector<AttributeDef> attributes, OpDef rest)
    : RegisterOp([&] {
        rest.name = op;
        rest.min_inputs = inputs.least;
        rest.max_inputs = inputs.most;
        rest.doc = doc;
        rest.infer = std::move(infer);
        rest.gradient = std::move(gradient);
        rest.attributes = std::move(attributes);
        return std::move(rest);
      }()) {}

const AttributeDef* OpDef::attribute(const std::string& called) const {
  const auto found =
      std::find_if(attributes.begin(), attributes.end(), [&](const auto& a) { return a.name == called; });
  return found != attributes.end() ? &*found : nullptr;
}

RegisterComposed::RegisterComposed(const std::string& name, ComposeRule rule) {
  OpDef& definition = op_without_shapes(name);
  TW_REQUIRE(!definition.compose || definition.composed_by_name, "op '", name, "' is composed twice");
  definition.compose = std::move(rule);
  definition.composed_by_name = false;
}

RegisterHost::RegisterHost(const std::string& name, HostRule rule) {
  OpDef& definition = op_without_shapes(name);
  TW_REQUIRE(!definition.host, "op '", name, "' has two rules for the host");
  definition.host = std::move(rule);
}

const OpDef* look_up_op(const std::string& name) {
  const auto found = registry().find(name);
  return found != registry().end() ? &found->second : nullptr;
}

const OpDef& find_op(const std::string& name) {
  if (const OpDef* op = look_up_op(name); op != nullptr) return *op;
  raise("unknown op '", name, "'; nearest known: ", nearest_names(name, op_names()));
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const auto& [name, op] : registry()) names.push_back(name);
  return names;
}

const OpDef* op_of_onnx(const std::string& domain, const std::string& op_type) {
  return op_of_standard((domain.empty() ? "onnx" : domain) + "." + op_type);
}

InferRule same_as_input() {
  return [](const InferContext& context) { return std::vector<TensorType>{context.type(0)}; };
}

}  // namespace thalweg

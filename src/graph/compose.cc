// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/compose.h"

namespace thalweg {

std::string ComposeContext::op_type() const {
  const std::string& name = node_.op_name();
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

Value* ComposeContext::input(size_t index) const {
  require(has(index), "input ", index, " is missing");
  return inputs_[index];
}

std::vector<Value*> ComposeContext::inputs() const {
  std::vector<Value*> values{input(0)};
  for (size_t i = 1; i < num_inputs(); ++i) values.push_back(input(i));
  return values;
}

bool ComposeContext::wants(size_t output) const {
  if (output >= num_outputs()) return false;
  const Value* value = node_.output(output);
  return node_.graph().is_output(value) || !node_.graph().consumers(value).empty();
}

Value* ComposeContext::known(size_t index) const {
  Value* value = input(index);
  if (value->kind() == Value::Kind::kConstant) return value;
  Value* constant = find_content_ ? find_content_(value) : nullptr;
  if (constant != nullptr) inputs_[index] = constant;
  return constant;
}

Tensor ComposeContext::content(size_t index) const {
  const Value* constant = known(index);
  if (constant == nullptr) throw ContentNeeded{};
  return constant->data();
}

bool ComposeContext::is_known(size_t index) const { return has(index) && known(index) != nullptr; }

std::vector<int64_t> ComposeContext::content_integers(size_t index) const {
  const Tensor integers = content(index).to(DType::kI64);
  const auto* values = integers.data<int64_t>();
  return {values, values + integers.num_elements()};
}

double ComposeContext::content_number(size_t index) const {
  const Tensor number = content(index);
  require(number.num_elements() == 1, "input ", index, " must have one element, not shape ", number.shape());
  return number.item();
}

int64_t ComposeContext::content_integer(size_t index) const {
  const std::vector<int64_t> integers = content_integers(index);
  require(integers.size() == 1, "input ", index, " must have one element, not ", integers.size());
  return integers[0];
}

}  // namespace thalweg

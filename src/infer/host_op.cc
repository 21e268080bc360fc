// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "infer/host_op.h"

#include <map>

namespace thalweg {
namespace {

std::map<std::string, HostFunction>& registry() {
  static std::map<std::string, HostFunction> ops;
  return ops;
}

}  // namespace

const Tensor& HostCall::input(size_t index) const {
  TW_REQUIRE(has(index), "input ", index, " is missing");
  return inputs_[index];
}

std::vector<int64_t> HostCall::content_integers(size_t index) const {
  const Tensor integers = input(index).to(DType::kI64);
  const auto* values = integers.data<int64_t>();
  return {values, values + integers.num_elements()};
}

double HostCall::content_number(size_t index, double fallback) const {
  if (!has(index)) return fallback;
  TW_REQUIRE(input(index).num_elements() == 1, "input ", index, " must have one element, not shape ",
             input(index).shape());
  return input(index).item();
}

int64_t HostCall::content_integer(size_t index, int64_t fallback) const {
  if (!has(index)) return fallback;
  TW_REQUIRE(input(index).num_elements() == 1, "input ", index, " must have one element, not shape ",
             input(index).shape());
  return content_integers(index)[0];
}

RegisterHostOps::RegisterHostOps(std::initializer_list<std::pair<const char*, HostFunction>> ops) {
  for (const auto& [op_type, function] : ops) {
    TW_REQUIRE(registry().emplace(op_type, function).second, "two host ops for ", op_type);
  }
}

const HostFunction* find_host_op(const std::string& domain, const std::string& op_type) {
  if (!onnx::normal_domain(domain).empty()) return nullptr;
  const auto found = registry().find(op_type);
  return found != registry().end() ? &found->second : nullptr;
}

}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/native/function_loops.h"

#include <map>

#include "ops/ids.h"

namespace thalweg {

const simd::Function* unary_loop(const std::string& op) {
  static const std::map<std::string, simd::Function> table = {
#define TW_ENTRY(name) {op::k##name, simd::Function::k##name},
      TW_SIMD_UNARY_FUNCTIONS(TW_ENTRY)
#undef TW_ENTRY
  };
  const auto found = table.find(op);
  return found != table.end() ? &found->second : nullptr;
}

const simd::BinaryFunction* binary_loop(const std::string& op) {
  static const std::map<std::string, simd::BinaryFunction> table = {
      {op::kAdd, simd::BinaryFunction::kAdd},         {op::kSub, simd::BinaryFunction::kSub},
      {op::kMul, simd::BinaryFunction::kMul},         {op::kDiv, simd::BinaryFunction::kDiv},
      {op::kPow, simd::BinaryFunction::kPow},         {op::kMinimum, simd::BinaryFunction::kMinimum},
      {op::kMaximum, simd::BinaryFunction::kMaximum}, {op::kPrelu, simd::BinaryFunction::kPrelu},
      {op::kModulo, simd::BinaryFunction::kModulo}};
  const auto found = table.find(op);
  return found != table.end() ? &found->second : nullptr;
}

}  // namespace thalweg

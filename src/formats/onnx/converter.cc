// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/converter.h"

#include "formats/onnx/model_file.h"

namespace thalweg::onnx {

std::string op_name_of(const std::string& domain, const std::string& op_type) {
  const std::string family = normal_domain(domain);
  return (family.empty() ? "onnx" : family) + "." + op_type;
}

RegisterConverters::RegisterConverters(std::initializer_list<Entry> entries, const std::string& domain) {
  for (const auto& [op_type, converter, means] : entries) {
    RegisterComposed(op_name_of(domain, op_type), converter);
    if (means.has_value()) RegisterMeaning(op_name_of(domain, op_type), *means);
  }
}

}  // namespace thalweg::onnx

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/node_attributes.h"

namespace thalweg::onnx {

const AttributeProto* NodeAttributes::find(const std::string& name) const {
  for (const AttributeProto& attribute : node_.attribute) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

const AttributeProto* NodeAttributes::find(const std::string& name, AttributeProto::Type type) const {
  const AttributeProto* attribute = find(name);
  TW_REQUIRE(attribute == nullptr || attribute->type == type, "attribute '", name,
             "' is of another kind than expected");
  return attribute;
}

int64_t NodeAttributes::integer(const std::string& name, int64_t fallback) const {
  const AttributeProto* attribute = find(name, AttributeProto::Type::kInt);
  return attribute != nullptr ? attribute->i : fallback;
}

double NodeAttributes::real(const std::string& name, double fallback) const {
  const AttributeProto* attribute = find(name, AttributeProto::Type::kFloat);
  return attribute != nullptr ? static_cast<double>(attribute->f) : fallback;
}

std::string NodeAttributes::text(const std::string& name, const std::string& fallback) const {
  const AttributeProto* attribute = find(name, AttributeProto::Type::kString);
  return attribute != nullptr ? attribute->s : fallback;
}

std::vector<int64_t> NodeAttributes::integers(const std::string& name, const std::vector<int64_t>& fallback) const {
  const AttributeProto* attribute = find(name, AttributeProto::Type::kInts);
  return attribute != nullptr ? attribute->ints : fallback;
}

std::vector<double> NodeAttributes::reals(const std::string& name, const std::vector<double>& fallback) const {
  const AttributeProto* attribute = find(name, AttributeProto::Type::kFloats);
  if (attribute == nullptr) return fallback;
  return {attribute->floats.begin(), attribute->floats.end()};
}

std::vector<std::string> NodeAttributes::texts(const std::string& name) const {
  const AttributeProto* attribute = find(name, AttributeProto::Type::kStrings);
  return attribute != nullptr ? attribute->strings : std::vector<std::string>();
}

Tensor NodeAttributes::tensor(const std::string& name) const {
  const AttributeProto* attribute = find(name, AttributeProto::Type::kTensor);
  if (attribute == nullptr || attribute->t == nullptr) return {};
  return model_.tensor(*attribute->t);
}

const GraphProto& NodeAttributes::body(const std::string& name) const {
  const AttributeProto* attribute = find(name, AttributeProto::Type::kGraph);
  TW_REQUIRE(attribute != nullptr && attribute->g != nullptr, "attribute '", name, "' is missing");
  return *attribute->g;
}

}  // namespace thalweg::onnx

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/converter.h"

#include <map>
#include <mutex>

#include "formats/onnx/importer.h"
#include "formats/onnx/one_to_one.h"

namespace thalweg::onnx {
namespace {

using Key = std::pair<std::string, std::string>;

std::map<Key, Converter>& registry() {
  static std::map<Key, Converter> converters;
  return converters;
}

}  // namespace

RegisterConverters::RegisterConverters(std::initializer_list<std::pair<const char*, Converter>> converters,
                                       const std::string& domain) {
  for (const auto& [op_type, converter] : converters) {
    TW_REQUIRE(registry().emplace(Key{domain, op_type}, converter).second, "two converters for ", op_type);
  }
}

const Converter* find_converter(const std::string& domain, const std::string& op_type) {
  const Key key{normal_domain(domain), op_type};
  const auto found = registry().find(key);
  if (found != registry().end()) return &found->second;
  // Operators that an op lists as its own, once all ops are registered.
  static std::map<Key, Converter> listed;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  auto& converter = listed[key];
  if (converter == nullptr) converter = one_to_one_converter(key.first, key.second);
  return converter != nullptr ? &converter : nullptr;
}

NodeContext::NodeContext(Importer& importer, const NodeProto& node, int64_t opset)
    : NodeAttributes(importer.model(), node), importer_(importer), opset_(opset) {}

Graph& NodeContext::graph() const { return importer_.graph(); }

Value* NodeContext::input(size_t index) const {
  require(has(index), "input ", index, " is missing");
  return importer_.find(node().input[index]);
}

std::vector<Value*> NodeContext::inputs() const {
  std::vector<Value*> values{input(0)};
  for (size_t i = 1; i < num_inputs(); ++i) values.push_back(input(i));
  return values;
}

Tensor NodeContext::content(size_t index) const {
  require(has(index), "input ", index, " is missing");
  return importer_.content(node().input[index]);
}

bool NodeContext::is_known(size_t index) const { return has(index) && importer_.is_known(node().input[index]); }

std::vector<int64_t> NodeContext::content_integers(size_t index) const {
  const Tensor integers = content(index).to(DType::kI64);
  const auto* values = integers.data<int64_t>();
  return {values, values + integers.num_elements()};
}

double NodeContext::content_number(size_t index) const {
  const Tensor number = content(index);
  require(number.num_elements() == 1, "input ", index, " must have one element, not shape ", number.shape());
  return number.item();
}

int64_t NodeContext::content_integer(size_t index) const {
  const std::vector<int64_t> integers = content_integers(index);
  require(integers.size() == 1, "input ", index, " must have one element, not ", integers.size());
  return integers[0];
}

}  // namespace thalweg::onnx

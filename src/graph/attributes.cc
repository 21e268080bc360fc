// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>

#include "graph/attribute_def.h"
#include "thalweg/graph.h"

namespace thalweg {
namespace {

template <typename T>
void print(std::ostream& out, const T& value) {
  out << value;
}
/// The shortest text that reads back as the same number: passes compare nodes by it.
void print(std::ostream& out, double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  out.write(text.data(), end - text.data());
}
void print(std::ostream& out, const std::string& value) { out << '"' << value << '"'; }
template <typename T>
void print(std::ostream& out, const std::vector<T>& values) {
  out << '[';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out << ',';
    print(out, values[i]);
  }
  out << ']';
}
void print(std::ostream& out, const Tensor& value) { out << "tensor " << value.type(); }
void print(std::ostream& out, const std::shared_ptr<Graph>& value) { out << "graph " << value->name(); }

}  // namespace

const Attributes::Item* Attributes::find_item(const std::string& name) const {
  const auto found = items_.find(name);
  if (found != items_.end()) return &found->second;
  if (declared_ == nullptr) return nullptr;
  for (const AttributeDef& attribute : *declared_) {
    if (attribute.name == name) return attribute.usual.has_value() ? &*attribute.usual : nullptr;
  }
  return nullptr;
}

template <typename T>
const T* Attributes::find(const std::string& name) const {
  const Item* item = find_item(name);
  if (item == nullptr) return nullptr;
  const T* value = std::get_if<T>(item);
  TW_REQUIRE(value != nullptr, "attribute '", name, "' is of another kind than expected");
  return value;
}

int64_t Attributes::integer(const std::string& name, int64_t fallback) const {
  const auto* value = find<int64_t>(name);
  return value != nullptr ? *value : fallback;
}

double Attributes::real(const std::string& name, double fallback) const {
  const Item* item = find_item(name);
  if (item != nullptr && std::holds_alternative<int64_t>(*item)) return static_cast<double>(std::get<int64_t>(*item));
  const auto* value = find<double>(name);
  return value != nullptr ? *value : fallback;
}

std::string Attributes::text(const std::string& name, const std::string& fallback) const {
  const auto* value = find<std::string>(name);
  return value != nullptr ? *value : fallback;
}

std::vector<int64_t> Attributes::integers(const std::string& name, const std::vector<int64_t>& fallback) const {
  const auto* value = find<std::vector<int64_t>>(name);
  return value != nullptr ? *value : fallback;
}

std::vector<double> Attributes::reals(const std::string& name, const std::vector<double>& fallback) const {
  const auto* value = find<std::vector<double>>(name);
  return value != nullptr ? *value : fallback;
}

std::vector<std::string> Attributes::texts(const std::string& name, const std::vector<std::string>& fallback) const {
  const auto* value = find<std::vector<std::string>>(name);
  return value != nullptr ? *value : fallback;
}

Tensor Attributes::tensor(const std::string& name) const {
  const auto* value = find<Tensor>(name);
  return value != nullptr ? *value : Tensor();
}

std::shared_ptr<Graph> Attributes::graph(const std::string& name) const {
  const auto* value = find<std::shared_ptr<Graph>>(name);
  return value != nullptr ? *value : nullptr;
}

std::string Attributes::to_string() const {
  std::ostringstream text;
  for (const auto& [name, item] : items_) {
    text << ' ' << name << '=';
    std::visit([&](const auto& value) { print(text, value); }, item);
  }
  return text.str();
}

}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/attribute_def.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/text.h"

namespace thalweg {
namespace {

using Kind = AttributeDef::Kind;
using Item = Attributes::Item;

AttributeDef made(const char* name, Kind kind, const char* doc, std::optional<Item> usual = std::nullopt) {
  AttributeDef attribute;
  attribute.name = name;
  attribute.kind = kind;
  attribute.doc = doc;
  attribute.usual = std::move(usual);
  return attribute;
}

bool holds(const Item& item, Kind kind) {
  switch (kind) {
    case Kind::kInteger:
    case Kind::kFlag: return std::holds_alternative<int64_t>(item);
    case Kind::kReal: return std::holds_alternative<double>(item) || std::holds_alternative<int64_t>(item);
    case Kind::kText: return std::holds_alternative<std::string>(item);
    case Kind::kIntegers: return std::holds_alternative<std::vector<int64_t>>(item);
    case Kind::kReals: return std::holds_alternative<std::vector<double>>(item);
    case Kind::kTexts: return std::holds_alternative<std::vector<std::string>>(item);
    case Kind::kTensor: return std::holds_alternative<Tensor>(item);
    case Kind::kGraph: return std::holds_alternative<std::shared_ptr<Graph>>(item);
  }
  return false;
}

/// The numbers of an item to which bounds apply.
std::vector<double> numbers(const Item& item) {
  if (const auto* integer = std::get_if<int64_t>(&item)) return {static_cast<double>(*integer)};
  if (const auto* real = std::get_if<double>(&item)) return {*real};
  if (const auto* list = std::get_if<std::vector<int64_t>>(&item)) return {list->begin(), list->end()};
  if (const auto* list = std::get_if<std::vector<double>>(&item)) return *list;
  return {};
}

template <typename... Parts>
std::string say(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

/// What is wrong with the content of one attribute; "" if nothing.
std::string problem_of(const AttributeDef& attribute, const Item& item) {
  const std::string begins = attribute.name + " must be ";
  if (!holds(item, attribute.kind)) return say(begins, "of kind ", name_of(attribute.kind));
  if (attribute.kind == Kind::kFlag) {
    const int64_t value = std::get<int64_t>(item);
    if (value != 0 && value != 1) return say(begins, "0 or 1, got ", value);
  }
  const bool bounded = std::isfinite(attribute.low) || std::isfinite(attribute.high);
  for (const double number : bounded ? numbers(item) : std::vector<double>()) {
    if (number >= attribute.low && number <= attribute.high) continue;
    if (!std::isfinite(attribute.high)) return say(begins, "at least ", attribute.low, ", got ", number);
    return say(begins, "between ", attribute.low, " and ", attribute.high, ", got ", number);
  }
  const auto& choices = attribute.choices;
  if (choices.empty()) return "";
  const std::string& text = std::get<std::string>(item);
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return "";
  return say("unknown ", attribute.name, " '", text, "'; known: ", join(choices, ", "));
}

}  // namespace

namespace attr {

AttributeDef integer(const char* name, int64_t usual, const char* doc) {
  return made(name, Kind::kInteger, doc, usual);
}
AttributeDef flag(const char* name, const char* doc, bool usual) {
  return made(name, Kind::kFlag, doc, int64_t{usual});
}
AttributeDef real(const char* name, double usual, const char* doc) { return made(name, Kind::kReal, doc, usual); }
AttributeDef text(const char* name, const char* usual, const char* doc) {
  return made(name, Kind::kText, doc, std::string(usual));
}
AttributeDef dtype(const char* name, const char* usual, const char* doc) { return text(name, usual, doc); }
AttributeDef integers(const char* name, const char* doc) { return made(name, Kind::kIntegers, doc); }
AttributeDef reals(const char* name, const char* doc) { return made(name, Kind::kReals, doc); }
AttributeDef tensor(const char* name, const char* doc) { return made(name, Kind::kTensor, doc); }
AttributeDef graph(const char* name, const char* doc) { return made(name, Kind::kGraph, doc); }

}  // namespace attr

std::string attribute_problem(const Attributes& attrs, const std::vector<AttributeDef>& declared) {
  for (const auto& [name, item] : attrs.items()) {
    const std::string& wanted = name;
    const auto found = std::find_if(declared.begin(), declared.end(), [&](const auto& a) { return a.name == wanted; });
    if (found == declared.end()) {
      std::vector<std::string> names;
      for (const AttributeDef& attribute : declared) names.push_back(attribute.name);
      if (names.empty()) return say("has no attributes, got '", name, "'");
      return say("has no attribute '", name, "'; nearest known: ", nearest_names(name, names));
    }
    if (std::string problem = problem_of(*found, item); !problem.empty()) return problem;
  }
  for (const AttributeDef& attribute : declared) {
    if (!attribute.required || attrs.has(attribute.name)) continue;
    return say("attribute '", attribute.name, "' is missing: ", attribute.doc);
  }
  return "";
}

const char* name_of(AttributeDef::Kind kind) {
  switch (kind) {
    case Kind::kInteger: return "integer";
    case Kind::kFlag: return "flag";
    case Kind::kReal: return "real";
    case Kind::kText: return "text";
    case Kind::kIntegers: return "integers";
    case Kind::kReals: return "reals";
    case Kind::kTexts: return "texts";
    case Kind::kTensor: return "tensor";
    case Kind::kGraph: return "graph";
  }
  return "?";
}

}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/meaning.h"

#include <map>
#include <string_view>

namespace thalweg {
namespace {

struct Meanings {
  std::map<std::string, std::string> op_of_standard, standard_of_op;
};

// A function-local static, since operators register from static initialisers of other files.
Meanings& meanings() {
  static Meanings all;
  return all;
}

}  // namespace

RegisterMeaning::RegisterMeaning(const std::string& standard, const std::string& op) {
  const auto [entry, fresh] = meanings().op_of_standard.emplace(standard, op);
  TW_REQUIRE(fresh || entry->second == op, standard, " is a name of two ops: ", entry->second, " and ", op);
  meanings().standard_of_op.emplace(op, standard);
}

const OpDef* op_of_standard(const std::string& standard) {
  const auto found = meanings().op_of_standard.find(standard);
  return found != meanings().op_of_standard.end() ? look_up_op(found->second) : nullptr;
}

const OpDef& meaning_of(const Node& node) {
  const OpDef* op = node.op().infer ? nullptr : op_of_standard(node.op_name());
  return op != nullptr ? *op : node.op();
}

bool means(const Node& node, OpId op) { return meaning_of(node).name == op; }

const std::string& standard_operator_of(OpId op) {
  const auto found = meanings().standard_of_op.find(op);
  TW_REQUIRE(found != meanings().standard_of_op.end(), "no standard operator stands for ", op.name);
  return found->second;
}

std::string name_in_files(const OpDef& op) {
  constexpr std::string_view kFamily = kStandardFamily;
  return op.name.starts_with(kFamily) ? op.name.substr(kFamily.size()) : op.name;
}

}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// docs/ops.md is what the ops say of themselves. `make op-table` writes it again.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "graph/op_registry.h"
#include "support/source_dir.h"

namespace thalweg::testing {
namespace {

constexpr const char* kHead = R"(# Ops

What graphs are made of, and `thalweg.ops` in Python offers. `make op-table` writes this table from what each op's own
file in `src/ops` says; do not edit it. The ONNX operators and PyTorch's (`aten`) are those that mean the same, input for
input and attribute for attribute; many more are converted by code of their own.

| op | gives | attributes | ONNX | PyTorch |
|---|---|---|---|---|
)";

std::string default_of(const AttributeDef& attribute) {
  std::ostringstream text;
  if (const auto* integer = std::get_if<int64_t>(&*attribute.usual)) text << *integer;
  if (const auto* real = std::get_if<double>(&*attribute.usual)) text << *real;
  if (const auto* word = std::get_if<std::string>(&*attribute.usual)) text << '"' << *word << '"';
  return text.str();
}

std::string describe(const AttributeDef& attribute) {
  std::ostringstream text;
  text << '`' << attribute.name;
  if (attribute.usual.has_value() && !attribute.required) text << '=' << default_of(attribute);
  text << "`";
  if (!attribute.choices.empty()) {
    std::vector<std::string> choices;
    for (const std::string& choice : attribute.choices) {
      if (!choice.empty()) choices.push_back(choice);
    }
    text << " (" << join(choices, ", ") << ")";
  } else if (!attribute.usual.has_value() || attribute.required) {
    text << " (" << name_of(attribute.kind) << (attribute.required ? ", needed)" : ")");
  }
  text << ": " << attribute.doc;
  return text.str();
}

/// A bar would end the cell.
std::string cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

std::string table() {
  std::ostringstream text;
  text << kHead;
  for (const std::string& name : op_names()) {
    const OpDef& op = find_op(name);
    if (op.doc.empty()) continue;
    std::vector<std::string> attributes, onnx;
    for (const AttributeDef& attribute : op.attributes) attributes.push_back(describe(attribute));
    for (const OnnxName& known : op.onnx) onnx.push_back(known.name);
    text << "| `" << name << "` | " << cell(op.doc) << " | " << cell(join(attributes, "; ")) << " | "
         << join(onnx, ", ") << " | " << join(op.torch, ", ") << " |\n";
  }
  return text.str();
}

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(OpTable, IsWhatTheDocumentSays) {
  const std::string path = std::string(TW_SOURCE_DIR) + "/docs/ops.md";
  const std::string expected = table();
  if (std::getenv("THALWEG_WRITE_DOCS") != nullptr) std::ofstream(path) << expected;
  EXPECT_TRUE(read(path) == expected) << "docs/ops.md is not what the ops say: run `make op-table`";
}

TEST(OpTable, SaysSomethingOfEveryAttribute) {
  for (const std::string& name : op_names()) {
    for (const AttributeDef& attribute : find_op(name).attributes) EXPECT_FALSE(attribute.doc.empty()) << name;
  }
}

}  // namespace
}  // namespace thalweg::testing

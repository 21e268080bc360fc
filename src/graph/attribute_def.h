// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/graph.h"

namespace thalweg {

/// One attribute of an op, said once: graphs check nodes by it, readers take its default, files and documents its name.
struct AttributeDef {
  enum class Kind { kInteger, kFlag, kReal, kText, kIntegers, kReals, kTexts, kTensor, kGraph };

  std::string name;
  Kind kind = Kind::kInteger;
  std::string doc;
  /// What a reader gets where a node has none; without it, the reader's own idea of nothing.
  std::optional<Attributes::Item> usual = std::nullopt;
  bool required = false;
  /// Of a number, or of each number of a list; both ends belong to it.
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  /// Of a text; any if there are none.
  std::vector<std::string> choices = {};
  /// ONNX's name for it where that is another, and its default where that is another.
  std::string onnx = "";
  std::optional<double> onnx_usual = std::nullopt;
  /// ONNX's operator has no such attribute: it does what the default does.
  bool only_ours = false;

  AttributeDef& at_least(double value) { return low = value, *this; }
  AttributeDef& between(double least, double most) { return low = least, high = most, *this; }
  AttributeDef& one_of(std::vector<std::string> texts) { return choices = std::move(texts), *this; }
  AttributeDef& needed() { return required = true, *this; }
  AttributeDef& in_onnx(std::string called) { return onnx = std::move(called), *this; }
  AttributeDef& in_onnx(std::string called, double default_there) {
    onnx_usual = default_there;
    return in_onnx(std::move(called));
  }
  AttributeDef& not_in_onnx() { return only_ours = true, *this; }
  const std::string& onnx_name() const { return onnx.empty() ? name : onnx; }
};

/// How an op's file declares attributes: `attr::real("epsilon", 1e-5, "added to the variance").at_least(0)`. Lists have
/// no default: an op decides what none of them means.
namespace attr {

AttributeDef integer(const char* name, int64_t usual, const char* doc);
AttributeDef flag(const char* name, const char* doc, bool usual = false);
AttributeDef real(const char* name, double usual, const char* doc);
AttributeDef text(const char* name, const char* usual, const char* doc);
/// The name of an element type; "" is up to the op.
AttributeDef dtype(const char* name, const char* usual, const char* doc);
AttributeDef integers(const char* name, const char* doc);
AttributeDef reals(const char* name, const char* doc);
AttributeDef tensor(const char* name, const char* doc);
AttributeDef graph(const char* name, const char* doc);

}  // namespace attr

/// What is wrong with a node's attributes, for a message that begins with the node; "" if nothing is. An attribute that
/// the op does not have (the text then has the nearest that it has), one of another kind or out of bounds, or one that
/// must be there and is not.
std::string attribute_problem(const Attributes& attrs, const std::vector<AttributeDef>& declared);

/// As documents have it: integer, flag, real, text, ...
const char* name_of(AttributeDef::Kind kind);

}  // namespace thalweg

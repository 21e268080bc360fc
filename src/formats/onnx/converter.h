// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/compose.h"
#include "graph/meaning.h"

namespace thalweg::onnx {

/// The name by which a graph knows an operator of ONNX: "onnx.Relu", or "com.example.Relu" of another domain.
std::string op_name_of(const std::string& domain, const std::string& op_type);

using NodeContext = ComposeContext;
using Converter = ComposeRule;

/// Registers what operators of a domain are made of at start-up: `static const RegisterConverters k({{"Add", add},
/// ...});` A rule handles every version of its operator from kOldestOpset on, and asks ComposeContext::opset where they
/// differ.
struct RegisterConverters {
  struct Entry {
    const char* op_type;
    Converter converter;
    /// The op that the operator stands for in whole, if there is one.
    std::optional<OpId> means = std::nullopt;
  };
  RegisterConverters(std::initializer_list<Entry> entries, const std::string& domain = "");
};

/// A rule for an operator whose only output is what `function` gives.
template <typename Function>
Converter single(Function function) {
  return [function](const NodeContext& context) { return std::vector<Value*>{function(context)}; };
}

}  // namespace thalweg::onnx

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "graph/op_registry.h"

/// A graph that came from a file has nodes of standard operators, which are made of ops when it is specialised. What
/// such a node does is said by the op that its operator stands for: those who rewrite graphs ask for that, and need no
/// second list of names.
namespace thalweg {

/// How the names of ONNX's own operators begin in graphs.
inline constexpr const char* kStandardFamily = "onnx.";

/// Registers at start-up that a standard operator stands for an op, though files may write its operands and attributes
/// in another way. The first operator of an op is the one that is written for it.
struct RegisterMeaning {
  RegisterMeaning(const std::string& standard, const std::string& op);
};

/// Null if the standard operator, by its name in graphs, stands for no op.
const OpDef* op_of_standard(const std::string& standard);
/// The op that says what a node does: its own, or that which its standard operator stands for.
const OpDef& meaning_of(const Node& node);
bool means(const Node& node, OpId op);

/// The name in graphs of the first standard operator that stands for the op. Throws an Error if there is none.
const std::string& standard_operator_of(OpId op);
/// What files call an op or operator: without the family of ONNX's own.
std::string name_in_files(const OpDef& op);

}  // namespace thalweg

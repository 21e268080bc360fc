// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casters.h"
#include "thalweg/graph.h"

namespace thalweg::python {

/// Values belong to their graph. Those that a function returns, alone or in a list or tuple, keep the graph alive as
/// long as Python holds them.
void keep_graph_alive(nb::handle result);

/// For nb::call_policy.
struct KeepGraph {
  static void precall(PyObject** /*args*/, size_t /*count*/, nb::detail::cleanup_list* /*cleanup*/) {}
  static void postcall(PyObject** /*args*/, size_t /*count*/, nb::handle result) {
    if (result.is_valid()) keep_graph_alive(result);
  }
};

/// Marks every Python object that stands for a value of `graph` as unusable, for graphs that Python is lent during a
/// call only. What somebody keeps of them shares the value (nanobind does so for types with shared_from_this), so that
/// no later value comes to lie in its place and is taken for it.
void forget_values(const Graph& graph);

/// The second operand of an op: a value, a number of the first one's element type, or an array that becomes a constant.
using Operand = std::variant<Value*, double, Tensor>;
Value* as_value(Value* like, const Operand& operand);

}  // namespace thalweg::python

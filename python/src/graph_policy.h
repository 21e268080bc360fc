// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casters.h"
#include "thalweg/graph.h"

namespace thalweg::python {

/// Makes an object that nanobind has for a value usable. It may be one that was forgotten (see below) and that somebody
/// has kept: if a new value lies where the old one did, nanobind gives it out again.
void stand_for_value(nb::handle object);

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
/// call only.
void forget_values(const Graph& graph);

/// The second operand of an op: a value, a number of the first one's element type, or an array that becomes a constant.
using Operand = std::variant<Value*, double, Tensor>;
Value* as_value(Value* like, const Operand& operand);

}  // namespace thalweg::python

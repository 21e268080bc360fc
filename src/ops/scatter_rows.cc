// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/op_registry.h"
#include "ops/ids.h"

namespace thalweg {
namespace {

/// table [V, D] with rows [n, D] added at indices [n]: how a sparse gradient becomes a dense one.
std::vector<TensorType> infer_scatter_rows_add(const InferContext& context) {
  context.require_rank(0, 2);
  context.require_rank(1, 1);
  context.require_rank(2, 2);
  context.require(context.dtype(1) == DType::kI64, "indices must be i64");
  context.require(context.dtype(0) == context.dtype(2) && context.shape(0)[1] == context.shape(2)[1],
                  "rows do not fit the table");
  return {context.type(0)};
}

const RegisterOp kScatterRowsAdd(op::kScatterRowsAdd, 3, "A table with rows added at their numbers.",
                                 infer_scatter_rows_add, nullptr);

}  // namespace
}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Remainders, and operations on the bits of integers.
#include "graph/op_registry.h"
#include "ops/broadcast.h"
#include "thalweg/ops/elementwise.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer_pair(const InferContext& context) {
  context.require(context.dtype(0) == context.dtype(1), "element types differ");
  return {{context.dtype(0), broadcast_shapes(context, context.shape(0), context.shape(1))}};
}

std::vector<TensorType> infer_integers(const InferContext& context) {
  context.require(!is_floating(context.dtype(0)) && context.dtype(0) != DType::kBool, "the inputs must be integers");
  return infer_pair(context);
}

std::vector<TensorType> infer_not(const InferContext& context) {
  context.require(!is_floating(context.dtype(0)) && context.dtype(0) != DType::kBool, "the input must be integers");
  return {context.type(0)};
}

const RegisterOp kModulo({"modulo", 2, 2, infer_pair, nullptr});
const RegisterOp kAnd({"bit_and", 2, 2, infer_integers, nullptr, true});
const RegisterOp kOr({"bit_or", 2, 2, infer_integers, nullptr, true});
const RegisterOp kXor({"bit_xor", 2, 2, infer_integers, nullptr, true});
const RegisterOp kNot({"bit_not", 1, 1, infer_not, nullptr, true});
const RegisterOp kShiftLeft({"shift_left", 2, 2, infer_integers, nullptr, true});
const RegisterOp kShiftRight({"shift_right", 2, 2, infer_integers, nullptr, true});

Value* binary(const char* op, Value* a, Value* b, Attributes attrs = {}) {
  return a->graph().add(op, {a, b}, std::move(attrs))->output();
}

}  // namespace

namespace ops {

Value* modulo(Value* a, Value* b, bool truncated) {
  return binary("modulo", a, b, {{"truncated", static_cast<int64_t>(truncated)}});
}
Value* bit_and(Value* a, Value* b) { return binary("bit_and", a, b); }
Value* bit_or(Value* a, Value* b) { return binary("bit_or", a, b); }
Value* bit_xor(Value* a, Value* b) { return binary("bit_xor", a, b); }
Value* bit_not(Value* a) { return a->graph().add("bit_not", {a})->output(); }
Value* shift_left(Value* a, Value* b) { return binary("shift_left", a, b); }
Value* shift_right(Value* a, Value* b) { return binary("shift_right", a, b); }

}  // namespace ops
}  // namespace thalweg

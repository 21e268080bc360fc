// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/op_registry.h"
#include "ops/ids.h"
#include "thalweg/ops/shape.h"

namespace thalweg {
namespace {

/// Attribute "shape": 0 copies the input's dimension at that place, -1 takes what is left.
std::vector<TensorType> infer_reshape(const InferContext& context) {
  const Shape& from = context.shape(0);
  std::vector<int64_t> dims = context.attrs().integers("shape");
  int rest = -1;
  int64_t known = 1;
  // Elements of the input and of what is stated, but for dimensions that are copied: of those a batch may have none.
  int64_t others = 1, stated = 1;
  std::vector<bool> copied(dims.size(), false);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && static_cast<int>(i) < from.rank() && !context.attrs().flag("allow_zero")) {
      dims[i] = from[static_cast<int>(i)];
      copied[i] = true;
      if (dims[i] == kFree) {
        // A free dimension that is copied: the others must agree with the remaining ones, which cannot be checked yet.
        continue;
      }
    } else if (dims[i] == -1) {
      context.require(rest < 0, "shape has two dimensions to infer");
      rest = static_cast<int>(i);
      continue;
    }
    context.require(dims[i] >= 0, "shape has a dimension of size ", dims[i]);
    context.require(!__builtin_mul_overflow(known, dims[i], &known), "the shape has too many elements");
    if (!copied[i])
      context.require(!__builtin_mul_overflow(stated, dims[i], &stated), "the shape has too many elements");
  }
  if (!from.is_static()) {
    if (rest >= 0) {
      // With one free dimension copied on both sides the rest can still be known.
      int64_t from_known = 1;
      int free_from = 0, free_to = 0;
      for (int64_t dim : from) dim == kFree ? ++free_from : static_cast<int>(from_known *= dim);
      for (size_t i = 0; i < dims.size(); ++i) free_to += (dims[i] == kFree && static_cast<int>(i) != rest) ? 1 : 0;
      const bool balanced = free_from == free_to && known > 0 && from_known % known == 0;
      dims[static_cast<size_t>(rest)] = balanced ? from_known / known : kFree;
    }
    return {{context.dtype(0), Shape(dims)}};
  }
  const int64_t total = from.num_elements();
  if (rest >= 0) {
    for (int i = 0; i < from.rank(); ++i) {
      if (static_cast<size_t>(i) < dims.size() && copied[static_cast<size_t>(i)]) continue;
      context.require(!__builtin_mul_overflow(others, from[i], &others), "the input has too many elements");
    }
    context.require(stated > 0 && others % stated == 0, "cannot see ", from, " as ", Shape(dims));
    dims[static_cast<size_t>(rest)] = others / stated;
  }
  const Shape shape(dims);
  context.require(shape.num_elements() == total, "cannot see ", from, " as ", shape);
  return {{context.dtype(0), shape}};
}

void reshape_gradient(GradientContext& context) {
  // Through an op that takes its shape from another value: the forward shape may hold free dimensions.
  context.set(0, context.graph().add(op::kReshapeLike, {context.output_gradient(), context.input(0)})->output());
}

std::vector<TensorType> infer_reshape_like(const InferContext& context) {
  const Shape& from = context.shape(0);
  const Shape& to = context.shape(1);
  if (from.is_static() && to.is_static()) {
    context.require(from.num_elements() == to.num_elements(), "cannot see ", from, " as ", to);
  }
  return {{context.dtype(0), to}};
}

constexpr Traits kMoves = Trait::kMovesElements | Trait::kFollowsBf16;

const RegisterOp kReshape(
    op::kReshape, 1, "The same elements in another shape.", infer_reshape, reshape_gradient,
    {attr::integers("shape", "0 copies the dimension at that place, -1 takes what is left").at_least(-1).needed(),
     attr::flag("allow_zero", "0 means a dimension without elements")},
    {.traits = kMoves | Trait::kSameIfSameType});
const RegisterOp kReshapeLike(op::kReshapeLike, 2, "The same elements in the shape of another value.",
                              infer_reshape_like, reshape_gradient, {},
                              {.traits = Trait::kMovesElements | Trait::kSameIfSameType});

}  // namespace

namespace ops {

Value* reshape(Value* x, const std::vector<int64_t>& shape) {
  return x->graph().add(op::kReshape, {x}, {{"shape", shape}})->output();
}

Value* flatten(Value* x, int64_t axis) {
  const int rank = x->shape().rank();
  if (axis < 0) axis += rank;
  if (axis == 1) return reshape(x, {0, -1});
  int64_t rows = 1;
  for (int i = 0; i < axis; ++i) rows = x->shape()[i] == kFree || rows == kFree ? kFree : rows * x->shape()[i];
  if (rows != kFree) return reshape(x, {rows, -1});
  int64_t columns = 1;
  for (int i = static_cast<int>(axis); i < rank; ++i) columns *= x->shape()[i];
  return reshape(x, {-1, columns});
}

Value* squeeze(Value* x, const std::vector<int64_t>& axes) {
  return x->graph().add(op::kSqueeze, {x}, {{"axes", axes}})->output();
}

Value* unsqueeze(Value* x, const std::vector<int64_t>& axes) {
  return x->graph().add(op::kUnsqueeze, {x}, {{"axes", axes}})->output();
}

}  // namespace ops

namespace {

std::vector<bool> chosen_axes(const InferContext& context, int rank) {
  std::vector<bool> chosen(static_cast<size_t>(rank));
  for (int64_t axis : context.attrs().integers("axes")) chosen[static_cast<size_t>(context.axis(axis, rank))] = true;
  return chosen;
}

std::vector<TensorType> infer_squeeze(const InferContext& context) {
  const Shape& from = context.shape(0);
  const auto chosen = chosen_axes(context, from.rank());
  std::vector<int64_t> dims;
  for (int i = 0; i < from.rank(); ++i) {
    if (chosen[static_cast<size_t>(i)]) {
      context.require(from[i] == 1 || from[i] == kFree, "dimension ", i, " has size ", from[i], ", not 1");
    } else {
      dims.push_back(from[i]);
    }
  }
  return {{context.dtype(0), Shape(dims)}};
}

std::vector<TensorType> infer_unsqueeze(const InferContext& context) {
  const Shape& from = context.shape(0);
  const int rank = from.rank() + static_cast<int>(context.attrs().integers("axes").size());
  const auto chosen = chosen_axes(context, rank);
  std::vector<int64_t> dims;
  int next = 0;
  for (int i = 0; i < rank; ++i) dims.push_back(chosen[static_cast<size_t>(i)] ? 1 : from[next++]);
  return {{context.dtype(0), Shape(dims)}};
}

const RegisterOp kSqueeze(op::kSqueeze, 1, "Drops dimensions of size 1.", infer_squeeze, reshape_gradient,
                          {attr::integers("axes", "where they are; negative: from the end").needed()},
                          {.traits = kMoves});
const RegisterOp kUnsqueeze(op::kUnsqueeze, 1, "Puts in dimensions of size 1.", infer_unsqueeze, reshape_gradient,
                            {attr::integers("axes", "where they are; negative: from the end").needed()},
                            {.traits = kMoves});

}  // namespace
}  // namespace thalweg

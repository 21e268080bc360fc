// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Ops that reorder, extend or repeat a tensor: transpose, pad, expand, tile.
#include "graph/op_registry.h"
#include "ops/ids.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/shape.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer_transpose(const InferContext& context) {
  const Shape& from = context.shape(0);
  const auto permutation = context.attrs().integers("permutation");
  context.require(static_cast<int>(permutation.size()) == from.rank(), "the permutation has ", permutation.size(),
                  " places for ", from.rank(), " dimensions");
  std::vector<bool> seen(permutation.size());
  std::vector<int64_t> dims;
  for (int64_t place : permutation) {
    const int axis = context.axis(place, from.rank());
    context.require(!seen[static_cast<size_t>(axis)], "dimension ", axis, " appears twice in the permutation");
    seen[static_cast<size_t>(axis)] = true;
    dims.push_back(from[axis]);
  }
  return {{context.dtype(0), Shape(dims)}};
}

void transpose_gradient(GradientContext& context) {
  const auto permutation = context.attrs().integers("permutation");
  std::vector<int64_t> inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    const int64_t rank = static_cast<int64_t>(permutation.size());
    inverse[static_cast<size_t>(permutation[i] < 0 ? permutation[i] + rank : permutation[i])] = static_cast<int64_t>(i);
  }
  context.set(0, ops::transpose(context.output_gradient(), inverse));
}

const std::vector<AttributeDef> kPadAttributes{
    attr::integers("pads", "all begins, then all ends; negative ones crop").needed(),
    attr::text("mode", "constant", "what is added").one_of({"constant", "reflect", "edge"}),
    attr::real("value", 0.0, "that which mode constant adds")};
const AttributeDef kRepeats = attr::integers("repeats", "one for each dimension").at_least(1).needed();
constexpr Traits kMoves = Trait::kMovesElements | Trait::kFollowsBf16;

const RegisterOp kTranspose(op::kTranspose, 1, "Reorders the dimensions.", infer_transpose, transpose_gradient,
                            {attr::integers("permutation", "where each dimension of the result comes from").needed()},
                            {.traits = kMoves});

/// `sign` -1 undoes the padding.
TensorType padded_type(const InferContext& context, int64_t sign) {
  TensorType result = context.type(0);
  const auto pads = context.attrs().integers("pads");
  const int rank = result.shape.rank();
  context.require(static_cast<int>(pads.size()) == 2 * rank, "there are ", pads.size(), " pads for ", rank,
                  " dimensions; begins, then ends are needed");
  for (int64_t pad : pads) {
    context.require(pad >= -kMostElements && pad <= kMostElements, "a pad of ", pad, " is too large");
  }
  for (int i = 0; i < rank; ++i) {
    int64_t& dim = result.shape[i];
    if (dim == kFree) continue;
    dim += sign * (pads[static_cast<size_t>(i)] + pads[static_cast<size_t>(i + rank)]);
    context.require(dim >= 0, "dimension ", i, " would have size ", dim);
  }
  return result;
}

void check_pad_mode(const InferContext& context) {
  const std::string mode = context.attrs().text("mode");
  if (mode == "constant") return;
  const auto pads = context.attrs().integers("pads");
  const int rank = context.shape(0).rank();
  for (size_t i = 0; i < pads.size(); ++i) {
    const int axis = static_cast<int>(i) % rank;
    const int64_t size = context.shape(0)[axis];
    context.require(pads[i] >= 0, "mode ", mode, " cannot crop");
    if (size == kFree || pads[i] == 0) continue;
    context.require(mode == "edge" ? size > 0 : pads[i] < size, "dimension ", axis, " of size ", size,
                    " is too small for mode ", mode, " and a pad of ", pads[i]);
  }
}

std::vector<TensorType> infer_pad(const InferContext& context) {
  const TensorType result = padded_type(context, 1);
  check_pad_mode(context);
  return {result};
}

void pad_gradient(GradientContext& context) {
  Value* dy = context.output_gradient();
  std::vector<int64_t> pads = context.attrs().integers("pads");
  if (context.attrs().text("mode") == "constant") {
    for (int64_t& pad : pads) pad = -pad;
    context.set(0, ops::pad(dy, pads));
    return;
  }
  context.set(0, context.graph().add(op::kPadGrad, {dy}, context.attrs())->output());
}

std::vector<TensorType> infer_pad_grad(const InferContext& context) { return {padded_type(context, -1)}; }

const RegisterOp kPad(op::kPad, 1, "Adds elements before and after each dimension, or takes them away.", infer_pad,
                      pad_gradient, kPadAttributes, {.traits = Trait::kFollowsBf16});
const RegisterOp kPadGrad(op::kPadGrad, 1, "", infer_pad_grad, nullptr, kPadAttributes);

std::vector<TensorType> infer_expand(const InferContext& context) {
  const Shape& from = context.shape(0);
  std::vector<int64_t> dims = context.attrs().integers("shape");
  const int lead = static_cast<int>(dims.size()) - from.rank();
  context.require(lead >= 0, "cannot expand to fewer dimensions");
  for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
    int64_t& dim = dims[static_cast<size_t>(i)];
    const int64_t own = i >= lead ? from[i - lead] : 1;
    if ((dim == 0 || dim == -1) && i >= lead) dim = own;
    context.require(dim >= 0 || dim == kFree, "dimension ", i, " of the shape is ", dim);
    context.require(own == 1 || own == kFree || own == dim, "dimension ", i - lead, " of size ", own,
                    " does not expand to ", dim);
  }
  return {{context.dtype(0), Shape(dims)}};
}

void expand_gradient(GradientContext& context) {
  context.set(0, ops::sum_to(context.output_gradient(), context.input(0)->shape()));
}

const RegisterOp kExpand(op::kExpand, 1, "Broadcasts to a shape.", infer_expand, expand_gradient,
                         {attr::integers("shape", "0 and -1 keep the dimension at that place").at_least(-1)},
                         {.traits = Trait::kMovesElements | Trait::kSameIfSameType});

InferRule tiled(bool inverse) {
  return [inverse](const InferContext& context) {
    TensorType result = context.type(0);
    const auto repeats = context.attrs().integers("repeats");
    context.require(static_cast<int>(repeats.size()) == result.shape.rank(), "one repeat per dimension is needed, got ",
                    repeats.size());
    for (int i = 0; i < result.shape.rank(); ++i) {
      const int64_t times = repeats[static_cast<size_t>(i)];
      int64_t& extent = result.shape[i];
      if (extent == kFree) continue;
      if (inverse) {
        extent /= times;
      } else {
        context.require(!__builtin_mul_overflow(extent, times, &extent), "dimension ", i, " becomes too large");
      }
    }
    return std::vector<TensorType>{result};
  };
}

void tile_gradient(GradientContext& context) {
  context.set(0, context.graph().add(op::kTileGrad, {context.output_gradient()}, context.attrs())->output());
}

const RegisterOp kTile(op::kTile, 1, "Repeats each dimension.", tiled(false), tile_gradient, {kRepeats});
const RegisterOp kTileGrad(op::kTileGrad, 1, "", tiled(true), nullptr, {kRepeats});

}  // namespace

namespace ops {

Value* transpose(Value* x, const std::vector<int64_t>& permutation) {
  std::vector<int64_t> order = permutation;
  for (int i = x->shape().rank(); permutation.empty() && i-- > 0;) order.push_back(i);
  return x->graph().add(op::kTranspose, {x}, {{"permutation", order}})->output();
}

Value* pad(Value* x, const std::vector<int64_t>& pads, const std::string& mode, double value) {
  Attributes attrs{{"pads", pads}, {"mode", mode}};
  if (value != 0.0) attrs.set("value", value);
  return x->graph().add(op::kPad, {x}, std::move(attrs))->output();
}

Value* expand(Value* x, const std::vector<int64_t>& shape) {
  return x->graph().add(op::kExpand, {x}, {{"shape", shape}})->output();
}

Value* tile(Value* x, const std::vector<int64_t>& repeats) {
  return x->graph().add(op::kTile, {x}, {{"repeats", repeats}})->output();
}

}  // namespace ops
}  // namespace thalweg

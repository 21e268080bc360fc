// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Operators that draw at random, and what is made of draws.
#include "formats/onnx/import_random.h"

#include <bit>

#include "formats/onnx/tensor_data.h"
#include "ops/random.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {

namespace {

/// Of random operators a float, of dropout an integer.
double seed_number(const NodeContext& context) { return context.real("seed", 0.0); }

}  // namespace

int64_t seed_of(const NodeContext& context) {
  if (context.has_attribute("seed")) return static_cast<int64_t>(std::bit_cast<uint64_t>(seed_number(context)) >> 1);
  // FNV-1a: nodes without a seed draw independently of each other.
  uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : context.name()) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  return static_cast<int64_t>(hash >> 1);
}

namespace {

/// The type that the node asks for, else that of `like`, else f32.
DType drawn_type(const NodeContext& context, const Value* like) {
  const int64_t asked = context.integer("dtype", 0);
  if (asked == 0) return like != nullptr ? like->dtype() : DType::kF32;
  const auto dtype = dtype_of(static_cast<DataType>(asked));
  context.require(dtype.has_value(), "element type ", name_of(static_cast<DataType>(asked)), " is not supported");
  return *dtype;
}

Value* draw(const NodeContext& context, bool normal, Value* like) {
  const DType dtype = drawn_type(context, like);
  Shape shape;
  if (like == nullptr) shape = Shape(context.integers("shape"));
  for (const int64_t dim : shape) context.require(dim >= 0, "dimension ", dim, " is negative");
  const int64_t seed = seed_of(context);
  return normal ? ops::random_normal(context.graph(), like, shape, context.real("mean", 0.0),
                                     context.real("scale", 1.0), dtype, seed)
                : ops::random_uniform(context.graph(), like, shape, context.real("low", 0.0), context.real("high", 1.0),
                                      dtype, seed);
}

template <bool kNormal, bool kLike>
Value* drawn(const NodeContext& context) {
  return draw(context, kNormal, kLike ? context.input(0) : nullptr);
}

/// 1 with the probability that x is.
Value* bernoulli(const NodeContext& context) {
  Value* x = context.input(0);
  const DType wide = x->dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  Value* u = ops::random_uniform(context.graph(), x, {}, 0.0, 1.0, wide, seed_of(context));
  return ops::cast(ops::less(u, ops::cast(x, wide)), drawn_type(context, x));
}

/// Numbers of classes, by their unnormalised logarithms: how many classes end before a random place.
Value* multinomial(const NodeContext& context) {
  Value* logits = ops::cast(context.input(0), DType::kF32);
  const Shape shape = static_shape(context, logits);
  const int64_t samples = context.integer("sample_size", 1);
  context.require(shape.rank() == 2 && shape[1] > 0 && samples > 0 && samples <= kMostElements,
                  "the input must be [batch, classes], not ", shape, ", for ", samples, " samples");
  Value* ends = ops::cumsum(ops::softmax(logits, 1), 1);
  Value* u =
      ops::random_uniform(context.graph(), nullptr, {shape[0], samples, 1}, 0.0, 1.0, DType::kF32, seed_of(context));
  // The last class ends beyond any place, though rounding may say otherwise.
  Value* last = ops::equal(positions_of(context, shape[1]), context.constant(Tensor::scalar<int64_t>(shape[1] - 1)));
  Value* passed = ops::logical_and(ops::less_equal(ops::unsqueeze(ends, {1}), u), ops::logical_not(last));
  passed = ops::cast(passed, DType::kI64);
  const DType dtype = context.integer("dtype", 0) == 0 ? DType::kI32 : drawn_type(context, nullptr);
  return ops::cast(ops::reduce_sum(passed, {2}, false), dtype);
}

const RegisterConverters kConverters({
    {"RandomUniform", single(drawn<false, false>)},
    {"RandomUniformLike", single(drawn<false, true>)},
    {"RandomNormal", single(drawn<true, false>)},
    {"RandomNormalLike", single(drawn<true, true>)},
    {"Bernoulli", single(bernoulli)},
    {"Multinomial", single(multinomial)},
});

}  // namespace
}  // namespace thalweg::onnx

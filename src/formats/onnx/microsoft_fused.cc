// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Operators of the domain com.microsoft that ONNX Runtime's optimiser writes in the place of several: products,
// convolutions, activations, norms and weights of few bits.
#include "formats/onnx/import_standard.h"
#include "formats/onnx/tensor_data.h"
#include "thalweg/ops.h"
#include "thalweg/stored_types.h"

namespace thalweg::onnx {
namespace {

/// The first dimension behind the others of the batch, as a transposed batch is meant.
Value* with_batch_last(Value* x) {
  const int rank = x->shape().rank();
  std::vector<int64_t> order;
  for (int64_t d = 1; d < rank - 1; ++d) order.push_back(d);
  order.push_back(0);
  order.push_back(rank - 1);
  return ops::transpose(x, order);
}

Value* fused_matmul(const NodeContext& context) {
  Value *a = context.input(0), *b = context.input(1);
  bool transposes[] = {context.flag("transA", false), context.flag("transB", false)};
  if (context.flag("transBatchA", false)) a = with_batch_last(a);
  if (context.flag("transBatchB", false)) b = with_batch_last(b);
  // A vector has no two dimensions to change.
  for (const int side : {0, 1}) transposes[side] &= context.input(static_cast<size_t>(side))->shape().rank() >= 2;
  Value* y = nullptr;
  if (a->shape().rank() < 2 || b->shape().rank() < 2) {
    const auto turned = [](Value* x, bool turns) {
      if (!turns) return x;
      std::vector<int64_t> order;
      for (int64_t d = 0; d < x->shape().rank() - 2; ++d) order.push_back(d);
      order.insert(order.end(), {x->shape().rank() - 1, x->shape().rank() - 2});
      return ops::transpose(x, order);
    };
    y = as_standard(context, "MatMul", {turned(a, transposes[0]), turned(b, transposes[1])}, {})[0];
  } else {
    y = ops::matmul(a, b, transposes[0], transposes[1], context.name());
  }
  const double alpha = context.real("alpha", 1.0);
  return alpha == 1.0 ? y : ops::mul(y, alpha);
}

/// Parameters of an activation by their names, as far as they are given.
std::vector<double> activation_parameters(const NodeContext& context) {
  std::vector<double> parameters;
  for (const char* name : {"activation_alpha", "activation_beta"}) {
    if (!context.has_attribute(name)) break;
    parameters.push_back(context.real(name, 0.0));
  }
  return parameters;
}

Value* fused_matmul_activation(const NodeContext& context) {
  return activated(context, fused_matmul(context), context.text("activation", ""), activation_parameters(context));
}

Value* fused_gemm(const NodeContext& context) {
  std::vector<Value*> inputs = {context.input(0), context.input(1), context.optional(2)};
  Value* y = as_standard(context, "Gemm", inputs, context.attrs())[0];
  return activated(context, y, context.text("activation", ""), activation_parameters(context));
}

/// The sum with another value comes before the activation.
Value* fused_conv(const NodeContext& context) {
  Value* y =
      as_standard(context, "Conv", {context.input(0), context.input(1), context.optional(2)}, context.attrs())[0];
  if (context.has(3)) y = ops::add(y, context.input(3));
  return activated(context, y, context.text("activation", ""), context.reals("activation_params"));
}

Value* bias_gelu(const NodeContext& context) { return ops::gelu(ops::add(context.input(0), context.input(1))); }
Value* gelu(const NodeContext& context) { return ops::gelu(context.input(0)); }
Value* fast_gelu(const NodeContext& context) {
  Value* x = context.input(0);
  return ops::gelu(context.has(1) ? ops::add(x, context.input(1)) : x, true);
}
Value* quick_gelu(const NodeContext& context) {
  Value* x = context.input(0);
  const double alpha = context.real("alpha", 1.702F);
  return alpha == 1.0 ? ops::silu(x) : ops::mul(x, ops::sigmoid(ops::mul(x, alpha)));
}

/// The norm of a value along its last dimension, its mean and inverse deviation, and the value itself.
std::vector<Value*> normalized(const NodeContext& context, Value* x, Value* scale, Value* shift, double usual_epsilon) {
  Attributes attrs{{"axis", int64_t{-1}}, {"epsilon", context.real("epsilon", usual_epsilon)}};
  const bool parts = context.wants(1) || context.wants(2);
  std::vector<Value*> results =
      as_standard(context, "LayerNormalization", {x, scale, shift}, std::move(attrs), parts ? 3 : 1);
  results.resize(3);
  results.push_back(x);
  return results;
}

/// x / root of the mean of squares along the dimensions from the axis on, that inverse root, and the value itself.
std::vector<Value*> root_mean_square(const NodeContext& context, Value* x, Value* scale, int64_t axis) {
  const double epsilon = context.real("epsilon", 1e-5F);
  const DType dtype = x->dtype();
  Value* wide = ops::cast(x, dtype == DType::kF64 ? dtype : DType::kF32);
  std::vector<int64_t> axes;
  for (int64_t d = normal_axis(context, axis, x->shape().rank()); d < x->shape().rank(); ++d) axes.push_back(d);
  Value* inverse = ops::rsqrt(ops::add(ops::reduce_mean(ops::square(wide), axes, true), epsilon));
  return {ops::mul(ops::cast(ops::mul(wide, inverse), dtype), scale), inverse, nullptr, x};
}

std::vector<Value*> skip_layer_norm(const NodeContext& context) {
  Value* sum = ops::add(context.input(0), context.input(1));
  if (context.has(4)) sum = ops::add(sum, context.input(4));
  return normalized(context, sum, context.input(2), context.optional(3), 1e-12F);
}

std::vector<Value*> skip_simplified_layer_norm(const NodeContext& context) {
  Value* sum = ops::add(context.input(0), context.input(1));
  if (context.has(3)) sum = ops::add(sum, context.input(3));
  std::vector<Value*> results = root_mean_square(context, sum, context.input(2), -1);
  return {results[0], nullptr, results[1], sum};
}

std::vector<Value*> simplified_layer_norm(const NodeContext& context) {
  return root_mean_square(context, context.input(0), context.input(1), context.integer("axis", -1));
}

/// Words, positions and segments as vectors, added and normalised; how many words the mask counts.
std::vector<Value*> embed_layer_norm(const NodeContext& context) {
  Value* ids = context.input(0);
  const Shape shape = static_shape(context, ids);
  context.require(shape.rank() == 2, "words must be [batch, time], not ", shape);
  Value* positions = context.has(8) ? context.input(8) : positions_of(context, shape[1]);
  Value* sum = ops::add(ops::gather(context.input(2), ids, 0), ops::gather(context.input(3), positions, 0));
  if (context.has(1) && context.has(4)) sum = ops::add(sum, ops::gather(context.input(4), context.input(1), 0));
  Value* count = context.has(7) ? ops::reduce_sum(ops::cast(context.input(7), DType::kI32), {1}, false)
                                : context.constant(Tensor::zeros(DType::kI32, {shape[0]}));
  Attributes attrs{{"axis", int64_t{-1}}, {"epsilon", context.real("epsilon", 1e-12F)}};
  Value* y = as_standard(context, "LayerNormalization", {sum, context.input(5), context.input(6)}, attrs)[0];
  return {y, count, sum};
}

constexpr int64_t kMostBlock = 1 << 20;

/// Numbers of `bits` bits, several in a byte, the first in the lowest, along the last dimension: one in each byte.
Value* unpacked(const NodeContext& context, Value* packed, int64_t bits) {
  context.require(bits == 2 || bits == 4 || bits == 8, "weights of ", bits, " bits are not supported");
  if (bits == 8) return packed;
  const auto mask = static_cast<double>((1 << bits) - 1);
  std::vector<Value*> parts;
  for (int64_t shift = 0; shift < 8; shift += bits) {
    Value* moved = ops::shift_right(packed, ops::scalar_like(packed, static_cast<double>(shift)));
    parts.push_back(ops::unsqueeze(ops::bit_and(moved, ops::scalar_like(packed, mask)), {-1}));
  }
  std::vector<int64_t> dims = static_shape(context, packed).dims();
  dims.back() *= 8 / bits;
  return ops::reshape(ops::concat(parts, packed->shape().rank()), dims);
}

/// Weights [N, K] in blocks along K, packed as [N, blocks, bytes].
Value* matmul_nbits(const NodeContext& context) {
  Value* a = context.input(0);
  Value* packed = context.input(1);
  Value* scales = context.input(2);
  const int64_t n = context.integer("N", 0), k = context.integer("K", 0), block = context.integer("block_size", 0);
  const int64_t bits = context.integer("bits", 4);
  context.require(n > 0 && k > 0 && block > 0 && block <= kMostBlock && n < kMostElements && k < kMostElements,
                  "a weight of ", n, " by ", k, " in blocks of ", block);
  context.require(!context.has(4), "weights in another order (g_idx) are not supported");
  context.require(context.integer("weight_prepacked", 0) == 0, "weights packed for other processors are not supported");
  const int64_t blocks = (k + block - 1) / block;
  context.require(n <= kMostElements / (blocks * block), "a weight of ", n, " by ", k, " is too large");
  context.require(
      packed->dtype() == DType::kU8 && static_shape(context, packed).num_elements() == n * blocks * block * bits / 8,
      "a packed weight of shape ", packed->shape(), " does not fit ", n, " by ", k);
  context.require(static_shape(context, scales).num_elements() == n * blocks, "scales of shape ", scales->shape(),
                  " do not fit ", n, " by ", blocks, " blocks");
  const DType dtype = scales->dtype();
  Value* whole = unpacked(context, ops::reshape(packed, {n, blocks, block * bits / 8}), bits);
  Value* real = ops::cast(whole, dtype);
  if (context.has(3) && context.input(3)->dtype() == DType::kU8) {
    const int64_t bytes = (blocks * bits + 7) / 8;
    Value* zeros = unpacked(context, ops::reshape(context.input(3), {n, bytes}), bits);
    zeros = ops::slice(zeros, {0}, {blocks}, {1});
    real = ops::sub(real, ops::cast(ops::unsqueeze(zeros, {2}), dtype));
  } else if (context.has(3)) {
    real = ops::sub(real, ops::cast(ops::reshape(context.input(3), {n, blocks, 1}), dtype));
  } else {
    real = ops::sub(real, static_cast<double>(1 << (bits - 1)));
  }
  real = ops::reshape(ops::mul(real, ops::reshape(scales, {n, blocks, 1})), {n, blocks * block});
  if (blocks * block != k) real = ops::slice(real, {0}, {k}, {1});
  return ops::linear(a, ops::cast(real, a->dtype()), context.optional(5), "", context.name());
}

/// Each scale for the places of its block along an axis.
Value* spread(const NodeContext& context, Value* x, int64_t axis, int64_t block, int64_t size) {
  std::vector<int64_t> wide = static_shape(context, x).dims(), flat = wide;
  wide.insert(wide.begin() + axis + 1, block);
  flat[static_cast<size_t>(axis)] *= block;
  Value* y = ops::reshape(ops::expand(ops::unsqueeze(x, {axis + 1}), wide), flat);
  return flat[static_cast<size_t>(axis)] == size ? y : ops::slice(y, {0}, {size}, {axis});
}

/// Rows of a table in blocks of few bits.
Value* gather_block_quantized(const NodeContext& context) {
  Value *data = context.input(0), *indices = context.input(1), *scales = context.input(2);
  const int64_t rank = data->shape().rank(), block = context.integer("block_size", 128);
  const int64_t along = normal_axis(context, context.integer("gather_axis", 0), rank);
  const int64_t axis = normal_axis(context, context.integer("quantize_axis", 1), rank);
  context.require(block >= 1 && block <= kMostBlock && along != axis, "blocks of ", block, " along axis ", axis,
                  ", gathered along ", along);
  const int64_t bits = context.integer("bits", 4);
  const bool bytes = data->dtype() == DType::kU8;
  const auto rows = [&](Value* x) { return ops::gather(x, indices, along); };
  // Behind the dimensions of the indices.
  const int64_t placed = axis < along ? axis : axis + indices->shape().rank() - 1;
  Value* own = bytes ? unpacked(context, rows(data), bits) : rows(data);
  const int64_t size = static_shape(context, own)[static_cast<int>(placed)];
  Value* real = ops::cast(own, DType::kF32);
  if (context.has(3)) {
    Value* zeros = rows(context.input(3));
    if (bytes) zeros = unpacked(context, zeros, bits);
    const int64_t blocks = rows(scales)->shape()[static_cast<int>(placed)];
    if (zeros->shape()[static_cast<int>(placed)] != blocks) zeros = ops::slice(zeros, {0}, {blocks}, {placed});
    real = ops::sub(real, ops::cast(spread(context, zeros, placed, block, size), DType::kF32));
  } else if (bytes) {
    real = ops::sub(real, static_cast<double>(1 << (bits - 1)));
  }
  Value* scale = ops::cast(spread(context, rows(scales), placed, block, size), DType::kF32);
  return ops::cast(ops::mul(real, scale), scales->dtype());
}

const RegisterConverters kConverters(
    {
        {"FusedMatMul", single(fused_matmul)},
        {"TransposeMatMul", single(fused_matmul)},
        {"FusedMatMulActivation", single(fused_matmul_activation)},
        {"FusedGemm", single(fused_gemm)},
        {"FusedConv", single(fused_conv)},
        {"BiasGelu", single(bias_gelu)},
        {"Gelu", single(gelu)},
        {"FastGelu", single(fast_gelu)},
        {"QuickGelu", single(quick_gelu)},
        {"SkipLayerNormalization", skip_layer_norm},
        {"SkipSimplifiedLayerNormalization", skip_simplified_layer_norm},
        {"SimplifiedLayerNormalization", simplified_layer_norm},
        {"EmbedLayerNormalization", embed_layer_norm},
        {"MatMulNBits", single(matmul_nbits)},
        {"GatherBlockQuantized", single(gather_block_quantized)},
    },
    "com.microsoft");
/// ONNX Runtime writes this one in the standard's own domain.
const RegisterConverters kInStandard({{"SimplifiedLayerNormalization", simplified_layer_norm}});

}  // namespace
}  // namespace thalweg::onnx

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Where values are quantised, multiplied as if they were not, and quantised again, integers are multiplied.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/cpu.h"
#include "ops/ids.h"
#include "ops/quantized_result.h"
#include "passes/rewrite.h"
#include "thalweg/ops.h"
#include "thalweg/passes.h"

namespace thalweg {
namespace {

/// How integers stand for numbers, if one known scale and zero hold for all.
struct Encoding {
  double scale = 1.0;
  int64_t zero = 0;
  bool operator==(const Encoding&) const = default;
};

/// Of a quantize or dequantize node on bytes.
std::optional<Encoding> encoding_of(const Node& node) {
  const Value* scale = node.input(1);
  const Value* zero = node.input(2);
  const DType dtype = node.op_name() == op::kQuantize ? node.output()->dtype() : node.input(0)->dtype();
  if (!is_byte(dtype) || scale->kind() != Value::Kind::kConstant || scale->shape().rank() != 0) return std::nullopt;
  if (zero != nullptr && zero->kind() != Value::Kind::kConstant) return std::nullopt;
  const double size = scale->data().item();
  if (!std::isfinite(size) || size <= 0.0) return std::nullopt;
  return Encoding{size, zero != nullptr ? static_cast<int64_t>(zero->data().item()) : 0};
}

/// A number that some integers stand for.
struct Encoded {
  Value* integers = nullptr;
  Encoding encoding;
};

std::optional<Encoded> encoded(const Value* value) {
  if (value == nullptr || value->producer() == nullptr || value->producer()->op_name() != op::kDequantize) {
    return std::nullopt;
  }
  const auto encoding = encoding_of(*value->producer());
  if (!encoding.has_value()) return std::nullopt;
  return Encoded{value->producer()->input(0), *encoding};
}

/// i8 weights with one scale, or one for each output channel, and zeros that are zero.
struct EncodedWeights {
  Value* integers = nullptr;
  Value* scales = nullptr;
};

bool all_zero(const Tensor& tensor) {
  const auto* bytes = static_cast<const unsigned char*>(tensor.raw());
  return std::all_of(bytes, bytes + tensor.num_bytes(), [](unsigned char byte) { return byte == 0; });
}

std::optional<EncodedWeights> encoded_weights(const Value* value, int64_t channel_axis) {
  if (value->producer() == nullptr || value->producer()->op_name() != op::kDequantize) return std::nullopt;
  const Node& node = *value->producer();
  if (node.input(0)->dtype() != DType::kI8) return std::nullopt;
  const bool by_channel = node.input(1)->shape().rank() == 1;
  if (by_channel && node.attrs().integer("axis") != channel_axis) return std::nullopt;
  const Value* zero = node.input(2);
  if (zero != nullptr && (zero->kind() != Value::Kind::kConstant || !all_zero(zero->data()))) return std::nullopt;
  return EncodedWeights{node.input(0), node.input(1)};
}

/// quantize that alone reads the value.
const Node* following_quantize(const Graph& graph, const Value* value) {
  const Node* reader = only_consumer(graph, value);
  const bool usable = reader != nullptr && reader->op_name() == op::kQuantize && encoding_of(*reader).has_value();
  return usable ? reader : nullptr;
}

Value* number(Graph& graph, double value) { return graph.constant(Tensor::scalar<float>(static_cast<float>(value))); }

/// What comes after the sum of products: everything in units of `unit`, so that what is added needs no factor.
struct Ending {
  ops::QuantizedResult result;
  double unit = 1.0;
  /// Added to the bias, in units.
  double offset = 0.0;
  Value* residual = nullptr;
  /// The node whose output the product takes the place of.
  const Node* last = nullptr;
};

void set_bounds(const Node& product, double unit, ops::QuantizedResult& result) {
  const std::string activation = product.attrs().text("activation");
  if (activation.empty()) return;
  const bool relu = activation == op::kRelu;
  result.low = relu ? 0.0 : product.attrs().real("alpha") / unit;
  if (!relu) result.high = product.attrs().real("beta") / unit;
}

Ending ending_of(const Graph& graph, const Node& product, const Encoding& input, Value* residual) {
  Ending ending;
  ending.last = &product;
  ending.result.x_zero = input.zero;
  const Node* quantize = following_quantize(graph, product.output());
  const Encoding target = quantize != nullptr ? *encoding_of(*quantize) : Encoding();
  const auto added = encoded(residual);
  ending.residual = added.has_value() ? added->integers : residual;
  if (added.has_value()) {
    ending.unit = added->encoding.scale;
    ending.offset = -static_cast<double>(added->encoding.zero);
  } else if (residual == nullptr && quantize != nullptr) {
    ending.unit = target.scale;
  }
  set_bounds(product, ending.unit, ending.result);
  if (quantize == nullptr) {
    ending.result.factor = ending.unit;
    return ending;
  }
  ending.last = quantize;
  ending.result.dtype = quantize->output()->dtype();
  ending.result.factor = ending.unit == target.scale ? 1.0 : ending.unit / target.scale;
  ending.result.zero = target.zero;
  const bool bounded = std::isfinite(ending.result.low) || std::isfinite(ending.result.high);
  if (!bounded && ending.result.factor == 1.0) {
    ending.offset += static_cast<double>(target.zero);
    ending.result.zero = 0;
  }
  return ending;
}

Value* scales_of(const EncodedWeights& weights, int64_t channels, double input_scale, double unit) {
  Value* scales = weights.scales;
  if (scales->shape().rank() == 0) scales = ops::expand(scales, {channels});
  return ops::mul(scales, number(scales->graph(), input_scale / unit));
}

/// Null if nothing is added.
Value* bias_of(Graph& graph, Value* bias, int64_t channels, const Ending& ending) {
  if (bias != nullptr && bias->dtype() != DType::kF32) bias = ops::cast(bias, DType::kF32);
  if (bias != nullptr && ending.unit != 1.0) bias = ops::mul(bias, number(graph, 1.0 / ending.unit));
  if (ending.offset == 0.0) return bias;
  if (bias == nullptr) return ops::expand(number(graph, ending.offset), {channels});
  return ops::add(bias, number(graph, ending.offset));
}

void multiply_conv(Graph& graph, Node* conv) {
  const auto x = encoded(conv->input(0));
  const auto weights = encoded_weights(conv->input(1), 0);
  const std::string activation = conv->attrs().text("activation");
  if (!x.has_value() || !weights.has_value()) return;
  if (!activation.empty() && activation != op::kRelu && activation != op::kClip) return;
  if (conv->input(4) != nullptr) return;
  const Ending ending = ending_of(graph, *conv, x->encoding, conv->input(3));
  const int64_t channels = conv->input(1)->shape()[0];
  rewrite_at(graph, *ending.last, [&] {
    Value* scales = scales_of(*weights, channels, x->encoding.scale, ending.unit);
    Value* bias = bias_of(graph, conv->input(2), channels, ending);
    Attributes attrs = conv->attrs();
    for (const char* fused : {"activation", "alpha", "beta", "scale", "shift"}) attrs.erase(fused);
    write_result(ending.result, attrs);
    std::vector<Value*> inputs{x->integers, weights->integers, scales, bias, ending.residual};
    while (inputs.back() == nullptr) inputs.pop_back();
    return graph.add(op::kQuantizedConv, inputs, attrs, conv->name())->output();
  });
}

/// linear, or a product with a matrix of weights on the right.
void multiply_matrix(Graph& graph, Node* product) {
  const bool linear = product->op_name() == op::kLinear;
  const bool by_rows = linear || product->attrs().flag("transpose_b");
  const Value* matrix = product->input(1);
  if (product->attrs().flag("transpose_a") || matrix->shape().rank() != 2) return;
  const auto x = encoded(product->input(0));
  const auto weights = encoded_weights(matrix, by_rows ? 0 : 1);
  const std::string activation = linear ? product->attrs().text("activation") : "";
  if (!x.has_value() || !weights.has_value() || x->integers->shape().rank() < 2) return;
  if (!activation.empty() && activation != op::kRelu) return;
  const Ending ending = ending_of(graph, *product, x->encoding, nullptr);
  const int64_t channels = matrix->shape()[by_rows ? 0 : 1];
  rewrite_at(graph, *ending.last, [&] {
    Value* scales = scales_of(*weights, channels, x->encoding.scale, ending.unit);
    Value* bias = bias_of(graph, linear ? product->input(2) : nullptr, channels, ending);
    Value* weight = by_rows ? ops::transpose(weights->integers, {1, 0}) : weights->integers;
    return ops::quantized_linear(x->integers, weight, scales, bias, ending.result, product->name());
  });
}

/// quantize(relu(a + b)) for quantised a and b.
void add_integers(Graph& graph, Node* sum) {
  const auto a = encoded(sum->input(0));
  const auto b = encoded(sum->input(1));
  if (!a.has_value() || !b.has_value() || sum->input(0)->shape() != sum->input(1)->shape()) return;
  const Node* last = sum;
  const Node* relu = only_consumer(graph, sum->output());
  const bool rectified = relu != nullptr && relu->op_name() == op::kRelu;
  if (rectified) last = relu;
  const Node* quantize = following_quantize(graph, last->output());
  if (quantize == nullptr) return;
  const Encoding target = *encoding_of(*quantize);
  ops::QuantizedSum result;
  result.a_factor = a->encoding.scale / target.scale;
  result.b_factor = b->encoding.scale / target.scale;
  result.offset = static_cast<double>(target.zero) - result.a_factor * static_cast<double>(a->encoding.zero) -
                  result.b_factor * static_cast<double>(b->encoding.zero);
  if (rectified) result.low = static_cast<double>(target.zero);
  result.dtype = quantize->output()->dtype();
  rewrite_at(graph, *quantize, [&] { return ops::quantized_add(a->integers, b->integers, result, sum->name()); });
}

/// op(dequantize(q)) becomes dequantize(op(q)) for ops that only move elements, or pick the largest.
void move_integers(Graph& graph, Node* node) {
  if (!node->op().has(Trait::kMovesElements)) return;
  const auto x = encoded(node->input(0));
  if (!x.has_value() || (node->outputs().size() > 1 && !graph.consumers(node->output(1)).empty())) return;
  const Node& source = *node->input(0)->producer();
  rewrite_at(graph, *node, [&] {
    std::vector<Value*> inputs = node->inputs();
    inputs[0] = x->integers;
    Value* moved = graph.add(node->op_name(), inputs, node->attrs(), node->name())->output();
    return ops::dequantize(moved, source.input(1), source.input(2));
  });
}

/// quantize(dequantize(q)) with one encoding is q.
void cancel(Graph& graph, const Node& quantize) {
  const auto x = encoded(quantize.input(0));
  const auto target = encoding_of(quantize);
  if (!x.has_value() || !target.has_value() || !(x->encoding == *target)) return;
  if (x->integers->dtype() != quantize.output()->dtype() || graph.is_output(quantize.output())) return;
  graph.replace(quantize.output(), x->integers);
}

/// The factors of a product of two.
std::pair<Value*, Value*> factors(const Node& product) { return {product.input(0), product.input(1)}; }

bool is_made_by(const Value* value, OpId op) {
  return value->producer() != nullptr && value->producer()->op_name() == op;
}

/// The numbers that the integers of a dynamic product stand for, multiplied as such.
Value* product_of_numbers(const Node& quantize, const Node& matmul, Value* scales, Value* bias) {
  Value* x = ops::dequantize(quantize.output(0), quantize.output(1), quantize.output(2));
  Value* weights = ops::mul(ops::cast(matmul.input(1), DType::kF32), scales);
  Value* product = ops::matmul(x, weights);
  return bias == nullptr ? product : ops::add(product, bias);
}

/// cast(matmul_integer(q, w)) * (scale of q * scales of w) for q and its scale from one dynamic_quantize.
void multiply_dynamically(Graph& graph, Node* product, bool as_integers) {
  auto [sums, scale] = factors(*product);
  if (!is_made_by(sums, op::kCast)) std::swap(sums, scale);
  if (!is_made_by(sums, op::kCast) || !is_made_by(scale, op::kMul) || sums->dtype() != DType::kF32) return;
  const Value* integers = sums->producer()->input(0);
  if (!is_made_by(integers, op::kMatmulInteger)) return;
  const Node& matmul = *integers->producer();
  if (!is_made_by(matmul.input(0), op::kDynamicQuantize) || matmul.input(2) == nullptr) return;
  const Node& quantize = *matmul.input(0)->producer();
  auto [own, scales] = factors(*scale->producer());
  if (own != quantize.output(1)) std::swap(own, scales);
  const int64_t channels = matmul.input(1)->shape()[1];
  const bool fits = scales->shape().rank() == 0 || scales->shape() == Shape{channels};
  if (own != quantize.output(1) || matmul.input(2) != quantize.output(2) || !fits) return;
  const Node* sum = only_consumer(graph, product->output());
  Value* bias = nullptr;
  if (sum != nullptr && sum->op_name() == op::kAdd) {
    bias = sum->input(0) == product->output() ? sum->input(1) : sum->input(0);
    if (bias->type() != TensorType{DType::kF32, {channels}}) bias = nullptr;
  }
  rewrite_at(graph, bias != nullptr ? *sum : *product, [&] {
    if (!as_integers) return product_of_numbers(quantize, matmul, scales, bias);
    Value* vector = scales->shape().rank() == 0 ? ops::expand(scales, {channels}) : scales;
    return ops::dynamic_linear(quantize.input(0), matmul.input(1), vector, bias, matmul.name());
  });
}

}  // namespace

void use_int8(Graph& graph) {
  // Without instructions for it, bytes are multiplied in pairs whose sums are cut to 16 bits: wrong where weights are
  // large. The numbers that they stand for are then multiplied, as the graph says, which is no slower.
  const bool as_integers = cpu_has_int8_products();
  for (Node* node : list_nodes(graph)) {
    if (node->op_name() == op::kQuantize) cancel(graph, *node);
    move_integers(graph, node);
  }
  for (Node* node : list_nodes(graph)) {
    const bool matrices = node->op_name() == op::kLinear || node->op_name() == op::kMatmul;
    if (as_integers && node->op_name() == op::kConv) multiply_conv(graph, node);
    if (as_integers && matrices) multiply_matrix(graph, node);
    if (node->op_name() == op::kMul) multiply_dynamically(graph, node, as_integers);
  }
  graph.remove_dead_nodes();
  for (Node* node : list_nodes(graph)) {
    if (node->op_name() == op::kAdd) add_integers(graph, node);
  }
  graph.sort_nodes();
  graph.remove_dead_nodes();
}

}  // namespace thalweg

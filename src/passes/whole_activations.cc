// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Activations that files and modules spell out in several nodes, said as the one op that they are. Each has a single
// kernel, a single gradient, and can move into the product before it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "ops/ids.h"
#include "passes/rewrite.h"
#include "thalweg/ops.h"
#include "thalweg/passes.h"

namespace thalweg {
namespace {

/// Writers of files round constants to f32, and some to fewer digits.
bool near(double a, double b) { return std::abs(a - b) <= 2e-4 * std::abs(b); }

const Node* producer_of(const Value* value, const OpId& op) {
  const Node* node = value->producer();
  return node != nullptr && node->op_name() == op ? node : nullptr;
}

std::optional<double> constant_of(const Value* value) {
  if (value->kind() != Value::Kind::kConstant || value->data().num_elements() != 1) return {};
  if (!is_floating(value->dtype())) return {};
  return value->data().item();
}

/// One operand of a binary node, and the other.
struct Operand {
  Value* value;
  Value* other;
};

/// Both orders of the operands of a node that computes `op`; none for other values.
std::vector<Operand> operands_of(const Value* value, const OpId& op) {
  const Node* node = producer_of(value, op);
  if (node == nullptr) return {};
  return {{node->input(0), node->input(1)}, {node->input(1), node->input(0)}};
}

/// A value seen as factor * value; factor 1 where it is no product with a constant.
struct Scaled {
  double factor;
  Value* value;
};

/// Sees through as many products with and quotients by constants as there are.
Scaled unscaled(Value* value) {
  Scaled result{1.0, value};
  for (;;) {
    Value* before = result.value;
    for (const Operand& operand : operands_of(before, op::kMul)) {
      const std::optional<double> factor = constant_of(operand.other);
      if (factor) result = {result.factor * *factor, operand.value};
    }
    if (const Node* quotient = producer_of(result.value, op::kDiv)) {
      const std::optional<double> divisor = constant_of(quotient->input(1));
      if (divisor && *divisor != 0) result = {result.factor / *divisor, quotient->input(0)};
    }
    if (result.value == before) return result;
  }
}

/// x of x + term.
Value* without_term(const Value* sum, double term) {
  for (const Operand& operand : operands_of(sum, op::kAdd)) {
    const std::optional<double> constant = constant_of(operand.other);
    if (constant && near(*constant, term)) return operand.value;
  }
  return nullptr;
}

/// x of clip(x + 3, 0, 6).
Value* of_clipped_sum(const Value* value) {
  const Node* clip = producer_of(value, op::kClip);
  if (clip == nullptr || clip->attrs().real("low") != 0.0 || clip->attrs().real("high") != 6.0) return nullptr;
  return without_term(clip->input(0), 3.0);
}

/// The factors of a product of any number of values, constants multiplied up.
struct Product {
  double constant = 1.0;
  std::vector<Value*> factors;

  explicit Product(Value* value) { add(value, 0); }

 private:
  /// No activation is spelled in more than four products.
  void add(Value* value, int depth) {
    constexpr int kDeepest = 4;
    const Scaled scaled = unscaled(value);
    constant *= scaled.factor;
    const Node* product = depth < kDeepest ? producer_of(scaled.value, op::kMul) : nullptr;
    if (product == nullptr) {
      factors.push_back(scaled.value);
      return;
    }
    add(product->input(0), depth + 1);
    add(product->input(1), depth + 1);
  }
};

/// True if a value is x to a power of 2 or 3, in whatever spelling, times the factor of the tanh form of GELU.
bool is_cubic_term(Value* value, const Value* x, size_t power) {
  constexpr double kFactor = 0.044715;
  const Product product(value);
  if (!near(product.constant, kFactor)) return false;
  size_t exponent = 0;
  for (const Value* factor : product.factors) {
    const Node* squared = producer_of(factor, op::kSquare);
    const Node* raised = producer_of(factor, op::kPow);
    if (factor == x) {
      exponent += 1;
    } else if (squared != nullptr && squared->input(0) == x) {
      exponent += 2;
    } else if (raised != nullptr && raised->input(0) == x && constant_of(raised->input(1)).has_value()) {
      exponent += static_cast<size_t>(std::clamp(*constant_of(raised->input(1)), 0.0, 9.0));
    } else {
      return false;
    }
  }
  return exponent == power;
}

/// x of tanh(sqrt(2/pi) * (x + 0.044715 * x^3)), or with x * (1 + 0.044715 * x^2).
Value* of_gelu_tanh(const Value* value) {
  const Node* tanh = producer_of(value, op::kTanh);
  if (tanh == nullptr) return nullptr;
  const Product inner(tanh->input(0));
  if (!near(inner.constant, std::sqrt(2.0 / std::numbers::pi))) return nullptr;
  if (inner.factors.size() == 1) {
    for (const Operand& operand : operands_of(inner.factors[0], op::kAdd)) {
      if (is_cubic_term(operand.other, operand.value, 3)) return operand.value;
    }
  }
  if (inner.factors.size() == 2) {
    for (const size_t which : {0, 1}) {
      Value* term = without_term(inner.factors[1 - which], 1.0);
      if (term != nullptr && is_cubic_term(term, inner.factors[which], 2)) return inner.factors[which];
    }
  }
  return nullptr;
}

/// x of erf(x / sqrt(2)).
Value* of_gelu_erf(const Value* value) {
  const Node* erf = producer_of(value, op::kErf);
  if (erf == nullptr) return nullptr;
  const Scaled inner = unscaled(erf->input(0));
  return near(inner.factor, std::numbers::sqrt2 / 2) ? inner.value : nullptr;
}

bool is_usual_hard_sigmoid(const Node& node) {
  return near(node.attrs().real("alpha"), 1.0 / 6.0) && near(node.attrs().real("beta"), 0.5);
}

/// What the other factor of x * f(x) says.
struct Gate {
  OpId op;
  Value* x = nullptr;
  double factor = 1.0;  ///< that the product must have besides
};

Gate gate_of(const Value* factor) {
  if (const Node* sigmoid = producer_of(factor, op::kSigmoid)) return {op::kSilu, sigmoid->input(0), 1.0};
  if (const Node* hard = producer_of(factor, op::kHardSigmoid); hard != nullptr && is_usual_hard_sigmoid(*hard)) {
    return {op::kHardSwish, hard->input(0), 1.0};
  }
  if (Value* x = of_clipped_sum(factor)) return {op::kHardSwish, x, 1.0 / 6.0};
  for (const Operand& operand : operands_of(factor, op::kAdd)) {
    if (constant_of(operand.value) != 1.0) continue;
    if (Value* x = of_gelu_erf(operand.other)) return {op::kGelu, x, 0.5};
    if (Value* x = of_gelu_tanh(operand.other)) return {op::kGeluTanh, x, 0.5};
  }
  return {op::kSilu, nullptr, 0.0};
}

/// x * f(x) in whatever order it was multiplied: the op, and x.
std::optional<Gate> gated(Value* value) {
  const Product product(value);
  if (product.factors.size() != 2) return {};
  for (const size_t which : {0, 1}) {
    const Gate gate = gate_of(product.factors[which]);
    if (gate.x != nullptr && gate.x == product.factors[1 - which] && near(product.constant, gate.factor)) return gate;
  }
  return {};
}

/// clip(x + 3, 0, 6) / 6.
Value* of_hard_sigmoid(Value* value) {
  const Scaled scaled = unscaled(value);
  return near(scaled.factor, 1.0 / 6.0) ? of_clipped_sum(scaled.value) : nullptr;
}

void recognize(Graph& graph, Node* node) {
  if (node->op_name() != op::kMul && node->op_name() != op::kDiv) return;
  if (!is_floating(node->output()->dtype())) return;
  const std::optional<Gate> gate = gated(node->output());
  Value* hard = gate ? nullptr : of_hard_sigmoid(node->output());
  Value* x = gate ? gate->x : hard;
  if (x == nullptr || x->type() != node->output()->type()) return;
  const OpId op = gate ? gate->op : op::kHardSigmoid;
  rewrite_at(graph, *node, [&] { return graph.add(op, {x}, {}, node->name())->output(); });
}

/// Powers with small whole exponents, and of a half, which every writer of files spells so.
void simplify_power(Graph& graph, Node* node) {
  if (node->op_name() != op::kPow || node->input(0)->type() != node->output()->type()) return;
  const std::optional<double> exponent = constant_of(node->input(1));
  if (!exponent || !is_floating(node->output()->dtype())) return;
  Value* x = node->input(0);
  if (*exponent == 2.0) rewrite_at(graph, *node, [&] { return ops::square(x); });
  if (*exponent == 3.0) rewrite_at(graph, *node, [&] { return ops::mul(ops::square(x), x); });
  if (*exponent == 0.5) rewrite_at(graph, *node, [&] { return ops::sqrt(x); });
}

/// The greater or lesser of x and a number: a bound, which needs to be known where the order of elements is not.
void simplify_bound(Graph& graph, Node* node) {
  const bool low = node->op_name() == op::kMaximum;
  if ((!low && node->op_name() != op::kMinimum) || !is_floating(node->output()->dtype())) return;
  for (const size_t which : {0, 1}) {
    Value* x = node->input(1 - which);
    const std::optional<double> bound = constant_of(node->input(which));
    if (!bound || std::isnan(*bound) || x->type() != node->output()->type()) continue;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return rewrite_at(graph, *node, [&] { return ops::clip(x, low ? *bound : -kInfinity, low ? kInfinity : *bound); });
  }
}

}  // namespace

void say_whole_activations(Graph& graph) {
  // The last node of a spelling names it, and the longest spelling should be found first.
  const std::vector<Node*> nodes = list_nodes(graph);
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) recognize(graph, *node);
  graph.remove_dead_nodes();
  for (Node* node : list_nodes(graph)) {
    simplify_power(graph, node);
    simplify_bound(graph, node);
  }
  graph.remove_dead_nodes();
}

}  // namespace thalweg

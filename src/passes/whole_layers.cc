// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Layer normalisation and attention that files spell out in several nodes, said as the one op that they are.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "ops/ids.h"
#include "passes/packed_attention.h"
#include "passes/rewrite.h"
#include "thalweg/ops.h"
#include "thalweg/passes.h"

namespace thalweg {
namespace {

const Node* producer_of(const Value* value, const OpId& op) {
  const Node* node = value->producer();
  return node != nullptr && node->op_name() == op ? node : nullptr;
}

std::optional<double> number_of(const Value* value) {
  if (value->kind() != Value::Kind::kConstant || value->data().num_elements() != 1) return {};
  return is_floating(value->dtype()) ? std::optional<double>(value->data().item()) : std::nullopt;
}

/// The first of the axes if a mean is over all dimensions from there on and keeps them; -1 otherwise.
int first_axis(const Node& mean) {
  const int rank = mean.input(0)->shape().rank();
  std::vector<int64_t> axes = mean.attrs().integers("axes");
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  if (axes.empty() || !mean.attrs().flag("keep_dims")) return -1;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != rank - static_cast<int64_t>(axes.size() - i)) return -1;
  }
  return static_cast<int>(axes[0]);
}

/// x normalised from an axis on.
struct Normalised {
  Value* x = nullptr;
  int axis = -1;
  double epsilon = 0.0;
};

/// The x of x - mean(x), and the axis of the mean.
std::optional<Normalised> centred(const Value* difference) {
  const Node* sub = producer_of(difference, op::kSub);
  const Node* mean = sub != nullptr ? producer_of(sub->input(1), op::kReduceMean) : nullptr;
  if (mean == nullptr || mean->input(0) != sub->input(0) || first_axis(*mean) < 0) return {};
  return Normalised{sub->input(0), first_axis(*mean), 0.0};
}

bool is_square_of(const Value* value, const Value* root) {
  const Node* square = producer_of(value, op::kSquare);
  const Node* product = producer_of(value, op::kMul);
  if (square != nullptr) return square->input(0) == root;
  return product != nullptr && product->input(0) == root && product->input(1) == root;
}

/// The epsilon of sqrt(mean(difference^2) + epsilon).
std::optional<double> deviation_epsilon(const Value* root, const Value* difference, int axis) {
  const Node* sqrt = producer_of(root, op::kSqrt);
  const Node* sum = sqrt != nullptr ? producer_of(sqrt->input(0), op::kAdd) : nullptr;
  if (sum == nullptr) return {};
  for (const size_t which : {0, 1}) {
    const Node* mean = producer_of(sum->input(which), op::kReduceMean);
    const std::optional<double> epsilon = number_of(sum->input(1 - which));
    if (mean == nullptr || !epsilon || first_axis(*mean) != axis || !is_square_of(mean->input(0), difference)) continue;
    return epsilon;
  }
  return {};
}

/// A layer norm without scale and shift that ends in this node.
std::optional<Normalised> normalised(const Node& quotient) {
  if (quotient.op_name() != op::kDiv) return {};
  std::optional<Normalised> result = centred(quotient.input(0));
  if (!result) return {};
  const auto epsilon = deviation_epsilon(quotient.input(1), quotient.input(0), result->axis);
  if (!epsilon || *epsilon < 0.0) return {};
  result->epsilon = *epsilon;
  return result;
}

/// The other operand of the only node that reads `value`, if that is `op` and the operand has the shape of what is
/// normalised; null otherwise.
Value* parameter_after(const Graph& graph, const Value* value, const OpId& op, int axis, const Node*& node) {
  node = only_consumer(graph, value);
  if (node == nullptr || node->op_name() != op || node->input(0) == node->input(1)) return nullptr;
  Value* operand = node->input(node->input(0) == value ? 1 : 0);
  const std::vector<int64_t>& dims = value->shape().dims();
  const Shape normal(std::vector<int64_t>(dims.begin() + axis, dims.end()));
  return operand->shape() == normal && operand->dtype() == DType::kF32 ? operand : nullptr;
}

void say_layer_norm(Graph& graph, const Node& quotient) {
  const std::optional<Normalised> found = normalised(quotient);
  if (!found || found->x->dtype() != DType::kF32 || !found->x->shape().is_static()) return;
  const Node *last = &quotient, *next = nullptr;
  Value *shift = nullptr, *scale = parameter_after(graph, last->output(), op::kMul, found->axis, next);
  if (scale != nullptr) last = next;
  if (scale != nullptr) shift = parameter_after(graph, last->output(), op::kAdd, found->axis, next);
  if (shift != nullptr) last = next;
  rewrite_at(graph, *last,
             [&] { return ops::layer_norm(found->x, scale, shift, found->axis, found->epsilon, last->name()); });
}

/// A value times a number, in as many products and quotients as there are.
struct Scaled {
  Value* value;
  double factor = 1.0;
};

Scaled unscaled(Value* value) {
  Scaled result{value};
  for (;;) {
    const Node* product = producer_of(result.value, op::kMul);
    const Node* quotient = producer_of(result.value, op::kDiv);
    if (product != nullptr && number_of(product->input(1))) {
      result = {product->input(0), result.factor * *number_of(product->input(1))};
    } else if (product != nullptr && number_of(product->input(0))) {
      result = {product->input(1), result.factor * *number_of(product->input(0))};
    } else if (quotient != nullptr && number_of(quotient->input(1)).value_or(0.0) != 0.0) {
      result = {quotient->input(0), result.factor / *number_of(quotient->input(1))};
    } else {
      return result;
    }
  }
}

using Order = std::vector<int64_t>;

/// The value of which `value` is a transpose of that order; null if it is none.
Value* transposed_from(const Value* value, const Order& order) {
  const Node* node = producer_of(value, op::kTranspose);
  if (node == nullptr) return nullptr;
  Order own = node->attrs().integers("permutation");
  for (int64_t& place : own) place += place < 0 ? static_cast<int64_t>(own.size()) : 0;
  return own == order ? node->input(0) : nullptr;
}

/// q [B, H, T, D], keys [B, H, D, S] and v [B, H, S, D] of softmax(q keys * scale + mask) v.
struct Attention {
  Value *q = nullptr, *keys = nullptr, *v = nullptr, *mask = nullptr;
  bool keys_by_row = false;  ///< keys are [B, H, S, D]
  double scale = 1.0;
};

/// The p of `p == p ? p : 0`: exporters guard rows of a softmax in which everything is masked so, and attention gives 0
/// for them. The value itself where there is no guard.
Value* unguarded(Value* value) {
  const Node* where = producer_of(value, op::kWhere);
  if (where == nullptr || number_of(where->input(1)) != 0.0) return value;
  const Node* negation = producer_of(where->input(0), op::kLogicalNot);
  const Node* equal = negation != nullptr ? producer_of(negation->input(0), op::kEqual) : nullptr;
  Value* number = where->input(2);
  return equal != nullptr && equal->input(0) == number && equal->input(1) == number ? number : value;
}

/// Nobody reads the probabilities, with or without such a guard, but the product with v.
bool read_by_product_alone(const Graph& graph, const Value* probabilities, const Node& product) {
  if (only_consumer(graph, product.input(0)) != &product || graph.is_output(probabilities)) return false;
  if (probabilities == product.input(0)) return true;
  const Node* where = product.input(0)->producer();
  const std::vector<Node*> readers = graph.consumers(probabilities);
  return std::all_of(readers.begin(), readers.end(), [&](const Node* reader) {
    return reader == where || only_consumer(graph, reader->output()) == where->input(0)->producer();
  });
}

bool is_plain_product(const Node& node) { return !node.attrs().flag("transpose_a"); }

/// The product of which scores are made, if they are no more than that.
std::optional<Attention> scores_of(Value* scores) {
  Attention found;
  Scaled sum = unscaled(scores);
  const Node* product = producer_of(sum.value, op::kMatmul);
  if (product == nullptr || !is_plain_product(*product)) return {};
  const Scaled q = unscaled(product->input(0)), keys = unscaled(product->input(1));
  found.q = q.value;
  found.keys = keys.value;
  found.keys_by_row = product->attrs().flag("transpose_b");
  found.scale = sum.factor * q.factor * keys.factor;
  return found;
}

std::optional<Attention> attention_of(const Graph& graph, const Node& product) {
  const Node* softmax = producer_of(unguarded(product.input(0)), op::kSoftmax);
  if (softmax == nullptr || !is_plain_product(product) || product.attrs().flag("transpose_b")) return {};
  const Shape& shape = softmax->output()->shape();
  const int64_t axis = softmax->attrs().integer("axis", -1);
  if (shape.rank() != 4 || !shape.is_static() || shape.num_elements() == 0 || (axis != -1 && axis != 3)) return {};
  if (softmax->output()->dtype() != DType::kF32 || !read_by_product_alone(graph, softmax->output(), product)) return {};
  std::optional<Attention> found = scores_of(softmax->input(0));
  if (const Node* sum = producer_of(softmax->input(0), op::kAdd); !found && sum != nullptr) {
    for (const size_t which : {0, 1}) {
      if (sum->input(which)->shape() != shape) continue;
      found = scores_of(sum->input(which));
      if (found) found->mask = sum->input(1 - which);
      if (found) break;
    }
  }
  if (found) found->v = product.input(1);
  return found;
}

bool same_heads(const Value* a, const Value* b) {
  return a->shape().rank() == 4 && b->shape().rank() == 4 && a->shape()[0] == b->shape()[0] &&
         a->shape()[1] == b->shape()[1];
}

void say_attention(Graph& graph, const Node& product) {
  const std::optional<Attention> found = attention_of(graph, product);
  if (!found || found->scale == 0.0) return;
  if (!same_heads(found->q, found->keys) || !same_heads(found->q, found->v)) return;
  // The kernel reads a mask along the keys.
  if (found->mask != nullptr && (found->mask->shape().rank() > 4 || found->mask->shape().rank() < 1 ||
                                 found->mask->shape()[-1] != product.input(0)->shape()[3]))
    return;
  const Order heads_first{0, 2, 1, 3}, keys_last{0, 2, 3, 1}, rows_last{0, 1, 3, 2};
  Value* q = transposed_from(found->q, heads_first);
  Value* v = transposed_from(found->v, heads_first);
  Value* k = transposed_from(found->keys, found->keys_by_row ? heads_first : keys_last);
  Value* keys = found->keys_by_row ? found->keys : transposed_from(found->keys, rows_last);
  if (k == nullptr && keys != nullptr) k = transposed_from(keys, heads_first);
  rewrite_at(graph, product, [&] {
    // Heads stay where they lie side by side, and the copies that would have brought them together go.
    if (q != nullptr && k != nullptr && v != nullptr) {
      return ops::transpose(ops::attention_by_time(q, k, v, found->mask, found->scale, false, product.name()),
                            heads_first);
    }
    Value* rows = keys != nullptr ? keys : ops::transpose(found->keys, rows_last);
    return ops::attention(found->q, rows, found->v, found->mask, found->scale, false, product.name());
  });
}

/// [..., a, b] seen as [m, a, b], transposed to [m, b, a] and seen as [..., b, a]: one transpose of the last two.
void say_matrix_transpose(Graph& graph, const Node& last) {
  const Node* transpose = producer_of(last.input(0), op::kTranspose);
  const Node* first = transpose != nullptr ? producer_of(transpose->input(0), op::kReshape) : nullptr;
  if (first == nullptr) return;
  const Shape& before = first->input(0)->shape();
  const Shape &merged = first->output()->shape(), &after = last.output()->shape();
  if (!before.is_static() || before.num_elements() == 0 || merged.rank() != 3 || before.rank() <= 3) return;
  if (transposed_from(last.input(0), {0, 2, 1}) == nullptr || before[-1] != merged[2] || before[-2] != merged[1])
    return;
  std::vector<int64_t> dims = before.dims();
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  if (after != Shape(dims)) return;
  Order order(dims.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  rewrite_at(graph, last, [&] { return ops::transpose(first->input(0), order); });
}

/// Transposes that undo each other go, and two that follow each other become one.
void join_transposes(Graph& graph) {
  for (Node* node : list_nodes(graph)) {
    if (node->op_name() != op::kTranspose) continue;
    const Node* before = producer_of(node->input(0), op::kTranspose);
    if (before == nullptr) continue;
    const auto normal = [](const Node& transpose) {
      Order order = transpose.attrs().integers("permutation");
      for (int64_t& place : order) place += place < 0 ? static_cast<int64_t>(order.size()) : 0;
      return order;
    };
    const Order first = normal(*before), second = normal(*node);
    Order joined;
    for (const int64_t place : second) joined.push_back(first[static_cast<size_t>(place)]);
    rewrite_at(graph, *node, [&] {
      return std::is_sorted(joined.begin(), joined.end()) ? before->input(0) : ops::transpose(before->input(0), joined);
    });
  }
}

}  // namespace

void say_whole_layers(Graph& graph) {
  for (Node* node : list_nodes(graph)) {
    say_layer_norm(graph, *node);
    if (node->op_name() == op::kReshape) say_matrix_transpose(graph, *node);
  }
  graph.sort_nodes();
  graph.remove_dead_nodes();
  for (Node* node : list_nodes(graph)) {
    if (node->op_name() == op::kMatmul) say_attention(graph, *node);
  }
  graph.sort_nodes();
  for (Node* node : list_nodes(graph)) {
    if (node->op_name() == op::kAttention) say_packed_attention(graph, *node);
  }
  graph.sort_nodes();
  join_transposes(graph);
  graph.sort_nodes();
  graph.remove_dead_nodes();
}

}  // namespace thalweg

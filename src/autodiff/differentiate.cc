// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <unordered_map>
#include <unordered_set>

#include "graph/op_registry.h"
#include "ops/ids.h"
#include "thalweg/autodiff.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/shape.h"

namespace thalweg {
namespace {

/// Contributions to the gradient of one value that are still to be summed.
struct Contributions {
  Value* dense = nullptr;
  struct Rows {
    Value* indices;
    Value* rows;
  };
  std::vector<Rows> sparse;
};

class Differentiator {
 public:
  Differentiator(Graph& graph, const std::vector<Value*>& targets) : graph_(graph), targets_(targets) {}

  /// The gradient of `value` begins as `gradient`, which adds to what other outputs contribute to it.
  void seed(Value* value, Value* gradient) {
    Value*& sum = contributions_[value].dense;
    sum = sum == nullptr ? gradient : ops::add(sum, gradient);
  }

  std::vector<Gradient> run() {
    find_influenced();
    const size_t forward_nodes = graph_.nodes().size();
    for (size_t i = forward_nodes; i-- > 0;) backward(*graph_.nodes()[i]);
    std::vector<Gradient> result;
    for (Value* target : targets_) result.push_back(collect(target));
    return result;
  }

 private:
  /// Values through which a target can influence the loss.
  void find_influenced() {
    influenced_.insert(targets_.begin(), targets_.end());
    for (const auto& node : graph_.nodes()) {
      if (node->op().zero_gradient) continue;
      for (const Value* input : node->inputs()) {
        if (input != nullptr && influenced_.count(input) > 0) {
          for (const Value* output : node->outputs()) {
            if (is_floating(output->dtype())) influenced_.insert(output);
          }
          break;
        }
      }
    }
  }

  void backward(const Node& node) {
    std::vector<Value*> output_gradients;
    bool reached = false;
    for (const Value* output : node.outputs()) {
      output_gradients.push_back(influenced_.count(output) > 0 ? dense_gradient(output) : nullptr);
      reached |= output_gradients.back() != nullptr;
    }
    if (!reached || node.op().zero_gradient) return;
    std::vector<bool> wanted;
    bool any = false;
    for (const Value* input : node.inputs()) {
      wanted.push_back(input != nullptr && influenced_.count(input) > 0);
      any |= wanted.back();
    }
    if (!any) return;
    TW_REQUIRE(node.op().gradient != nullptr, describe(node),
               ": has no gradient rule, but a trained value depends on it");
    GradientContext context(node, std::move(output_gradients), wanted);
    node.op().gradient(context);
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      if (wanted[i]) accumulate(node, i, context.results()[i]);
    }
  }

  void accumulate(const Node& node, size_t index, const GradientContext::Result& result) {
    Value* input = node.input(index);
    Contributions& sum = contributions_[input];
    if (result.rows != nullptr) {
      sum.sparse.push_back({result.indices, result.rows});
    } else if (result.dense != nullptr) {
      TW_REQUIRE(result.dense->type() == input->type(), describe(node), ": its rule gives a gradient of type ",
                 result.dense->type(), " for input ", index, " of type ", input->type());
      sum.dense = sum.dense == nullptr ? result.dense : ops::add(sum.dense, result.dense);
    }
  }

  /// All contributions summed into one dense value; null if there are none.
  Value* dense_gradient(const Value* value) {
    const auto found = contributions_.find(value);
    if (found == contributions_.end()) return nullptr;
    Contributions& sum = found->second;
    for (const auto& part : sum.sparse) {
      Value* zeros = sum.dense;
      if (zeros == nullptr) zeros = graph_.constant(Tensor::zeros(value->dtype(), value->shape()));
      sum.dense = graph_.add(op::kScatterRowsAdd, {zeros, part.indices, part.rows})->output();
    }
    sum.sparse.clear();
    return sum.dense;
  }

  Gradient collect(Value* target) {
    Gradient gradient;
    gradient.parameter = target;
    const auto found = contributions_.find(target);
    if (found == contributions_.end()) return gradient;
    if (found->second.dense == nullptr && found->second.sparse.size() == 1) {
      gradient.indices = found->second.sparse[0].indices;
      gradient.rows = found->second.sparse[0].rows;
    } else if (found->second.dense == nullptr && found->second.sparse.size() > 1) {
      std::vector<Value*> indices, rows;
      for (const auto& part : found->second.sparse) {
        indices.push_back(part.indices);
        rows.push_back(part.rows);
      }
      gradient.indices = ops::concat(indices, 0);
      gradient.rows = ops::concat(rows, 0);
    } else {
      gradient.dense = dense_gradient(target);
    }
    return gradient;
  }

  Graph& graph_;
  const std::vector<Value*>& targets_;
  std::unordered_set<const Value*> influenced_;
  std::unordered_map<const Value*, Contributions> contributions_;
};

Tensor one_of_type(const TensorType& type) {
  TW_REQUIRE(is_floating(type.dtype) && type.shape.num_elements() == 1,
             "a loss must be one element of a floating type, got ", type);
  Tensor one = Tensor::full<float>(type.shape, 1.0F);
  return one.to(type.dtype);
}

}  // namespace

std::vector<Gradient> differentiate(Graph& graph, Value* loss, const std::vector<Value*>& targets) {
  Differentiator differentiator(graph, targets);
  differentiator.seed(loss, graph.constant(one_of_type(loss->type())));
  return differentiator.run();
}

std::vector<Gradient> differentiate(Graph& graph, const std::vector<SeededOutput>& outputs,
                                    const std::vector<Value*>& targets) {
  Differentiator differentiator(graph, targets);
  for (const auto& [output, gradient] : outputs) {
    TW_REQUIRE(is_floating(output->dtype()) && gradient->type() == output->type(), "output '", output->name(), "' is ",
               output->type(), " and has no gradient of type ", gradient->type());
    differentiator.seed(output, gradient);
  }
  return differentiator.run();
}

void add_gradients(Graph& graph, Value* loss) {
  std::vector<Value*> targets;
  for (Value* parameter : graph.parameters()) {
    if (parameter->trainable()) targets.push_back(parameter);
  }
  for (const Gradient& gradient : differentiate(graph, loss, targets)) {
    if (gradient.dense != nullptr || gradient.rows != nullptr) graph.gradients().push_back(gradient);
  }
}

}  // namespace thalweg

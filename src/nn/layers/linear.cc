// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/nn/linear.h"

#include <cmath>

#include "nn/layers/defaults.h"
#include "thalweg/nn/activation.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/matmul.h"
#include "thalweg/ops/reduce.h"
#include "thalweg/ops/shape.h"

namespace thalweg::nn {

Value* Linear::forward(const Scope& scope, Value* x) const {
  const Shape& shape = x->shape();
  scope.require(shape.rank() >= 1 && (shape[-1] == in_ || shape[-1] == kFree), "Linear", "input ", shape,
                " does not end in the ", in_, " features that the layer takes");
  const Shape weight_shape{out_, in_};
  Value* weight = scope.parameter("weight", weight_shape, weight_init_or_default(options_.weight_init));
  Value* bias = nullptr;
  if (options_.bias) bias = scope.parameter("bias", {out_}, bias_init_or_default(options_.bias_init, weight_shape));
  return ops::linear(x, weight, bias, "", scope.path());
}

Value* Bilinear::forward(const Scope& scope, Value* x1, Value* x2) const {
  scope.require(x1->shape().rank() == 2 && x1->shape()[1] == in1_, "Bilinear", "the first input is ", x1->shape(),
                ", the layer takes [N, ", in1_, "]");
  scope.require(x2->shape().rank() == 2 && x2->shape()[1] == in2_, "Bilinear", "the second input is ", x2->shape(),
                ", the layer takes [N, ", in2_, "]");
  const double bound = 1.0 / std::sqrt(static_cast<double>(in1_));
  Value* weight = scope.parameter("weight", {out_, in1_, in2_}, init::uniform(-bound, bound));
  // [in1, out * in2], so that the larger product is one matrix product.
  Value* columns = ops::reshape(ops::transpose(weight, {1, 0, 2}), {in1_, out_ * in2_});
  Value* rows = ops::reshape(ops::matmul(x1, columns, false, false, scope.path()), {-1, out_, in2_});
  Value* y = ops::reduce_sum(ops::mul(rows, ops::unsqueeze(x2, {1})), {2});
  return bias_ ? ops::add(y, scope.parameter("bias", {out_}, init::uniform(-bound, bound))) : y;
}

Value* Embedding::table(const Scope& scope) const {
  const Shape shape{count_, dim_};
  const auto padding = options_.padding_idx;
  if (padding) {
    scope.require(*padding >= 0 && *padding < count_, "Embedding", "padding_idx ", *padding, " is not in [0, ", count_,
                  ")");
  }
  return scope.parameter("weight", shape, [this, padding](const Shape& s, uint64_t key) {
    Tensor table = (options_.weight_init ? options_.weight_init : init::normal())(s, key);
    if (padding) {
      auto* row = table.data<float>() + *padding * dim_;
      std::fill(row, row + dim_, 0.0F);
    }
    return table;
  });
}

Value* Embedding::forward(const Scope& scope, Value* indices) const {
  scope.require(!is_floating(indices->dtype()) && indices->dtype() != DType::kBool, "Embedding", "takes integers, got ",
                indices->type());
  Value* weight = table(scope);
  if (options_.sparse || options_.padding_idx) {
    return ops::embedding(weight, indices, options_.padding_idx.value_or(-1), scope.path());
  }
  return ops::gather(weight, indices, 0);
}

Value* Highway::forward(const Scope& scope, Value* x) const {
  Value* transformed = activate(scope, activation_, Linear(features_, features_).forward(scope.sub("transform"), x));
  // The bias starts low so that the layer begins by carrying its input.
  const Linear gate(features_, features_, {.bias_init = init::constant(-1.0)});
  Value* open = ops::sigmoid(gate.forward(scope.sub("gate"), x));
  return ops::add(x, ops::mul(open, ops::sub(transformed, x)));
}

Value* Maxout::forward(const Scope& scope, Value* x) const {
  scope.require(pieces_ >= 1, "Maxout", "needs at least one piece, got ", pieces_);
  Value* all = Linear(in_, out_ * pieces_).forward(scope, x);
  std::vector<int64_t> shape(static_cast<size_t>(x->shape().rank()) - 1, 0);
  shape.push_back(out_);
  shape.push_back(pieces_);
  return ops::reduce_max(ops::reshape(all, shape), {-1});
}

}  // namespace thalweg::nn

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/matmul.h"

#include "ops/broadcast.h"
#include "ops/fused_activation.h"
#include "ops/ids.h"
#include "thalweg/ops/activation.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/ops/shape.h"

namespace thalweg {
namespace {

bool fits(int64_t a, int64_t b) { return a == b || a == kFree || b == kFree; }

Shape leading(const Shape& shape) { return Shape(std::vector<int64_t>(shape.begin(), shape.end() - 2)); }

std::vector<TensorType> infer_matmul(const InferContext& context) {
  const Shape& a = context.shape(0);
  const Shape& b = context.shape(1);
  context.require(a.rank() >= 2 && b.rank() >= 2, "both sides need at least two dimensions");
  context.require(context.dtype(0) == context.dtype(1), "element types differ");
  const bool ta = context.attrs().flag("transpose_a");
  const bool tb = context.attrs().flag("transpose_b");
  context.require(fits(ta ? a[-2] : a[-1], tb ? b[-1] : b[-2]), "inner dimensions ", ta ? a[-2] : a[-1], " and ",
                  tb ? b[-1] : b[-2], " differ");
  std::vector<int64_t> dims = broadcast_shapes(context, leading(a), leading(b)).dims();
  dims.push_back(ta ? a[-1] : a[-2]);
  dims.push_back(tb ? b[-2] : b[-1]);
  return {{context.dtype(0), Shape(std::move(dims))}};
}

/// dy^T x summed over all rows of dy [..., O] and x [..., I]: one large product instead of a batch and a sum.
Value* sum_of_outer_products(Value* dy, Value* x) { return dy->graph().add(op::kLinearGradWeights, {dy, x})->output(); }

/// True if `b` is one matrix that all of `a`, read untransposed, multiplies.
bool shares_matrix(const Value* a, const Value* b, bool transpose_a) {
  return b->shape().rank() == 2 && a->shape().rank() > 2 && !transpose_a;
}

void matmul_gradient(GradientContext& context) {
  Value* dy = context.output_gradient();
  Value* a = context.input(0);
  Value* b = context.input(1);
  const bool ta = context.attrs().flag("transpose_a");
  const bool tb = context.attrs().flag("transpose_b");
  if (context.wants(0)) {
    Value* da = ta ? ops::matmul(b, dy, tb, true) : ops::matmul(dy, b, false, !tb);
    context.set(0, ops::sum_to(da, a->shape()));
  }
  if (!context.wants(1)) return;
  if (shares_matrix(a, b, ta)) {
    context.set(1, tb ? sum_of_outer_products(dy, a) : sum_of_outer_products(a, dy));
    return;
  }
  Value* db = tb ? ops::matmul(dy, a, true, ta) : ops::matmul(a, dy, !ta, false);
  context.set(1, ops::sum_to(db, b->shape()));
}

std::vector<TensorType> infer_linear(const InferContext& context) {
  const Shape& x = context.shape(0);
  const Shape& weight = context.shape(1);
  context.require(x.rank() >= 1, "the input needs at least one dimension");
  context.require_rank(1, 2);
  context.require(context.dtype(0) == context.dtype(1), "element types differ");
  context.require(fits(x[-1], weight[1]), "the input has ", x[-1], " features, the weight takes ", weight[1]);
  if (context.has(2)) {
    context.require_rank(2, 1);
    context.require(fits(context.shape(2)[0], weight[0]), "the bias has ", context.shape(2)[0], " elements, not ",
                    weight[0]);
  }
  TensorType result = context.type(0);
  result.shape[-1] = weight[0];
  return {result};
}

/// Functions whose derivative is a function of their value.
bool differentiable_by_output(const std::string& activation) {
  return activation == op::kRelu || activation == op::kTanh || activation == op::kSigmoid;
}

/// Gradient before the activation. Where its derivative needs the sum that fusion has thrown away, that is computed
/// again: graphs to be differentiated should keep such activations apart, as ops::linear does.
Value* before_activation(GradientContext& context) {
  Value* dy = context.output_gradient();
  const std::string activation = context.attrs().text("activation");
  TW_REQUIRE(!fused_affine(context.attrs()).present(), describe(context.node()),
             ": has no gradient once a scale or a shift is fused into it");
  if (activation.empty()) return dy;
  Value* saved = context.output();
  if (!differentiable_by_output(activation)) {
    saved = ops::linear(context.input(0), context.input(1), context.input(2));
  }
  const UnaryCallee callee = fused_activation(context.attrs());
  const Attributes attrs{{"function", activation}, {"a", callee.a}, {"b", callee.b}};
  return context.graph().add(op::kUnaryGrad, {dy, saved}, attrs)->output();
}

void linear_gradient(GradientContext& context) {
  Value* dy = before_activation(context);
  // The data gradient first: what waits for it is the rest of backward; the weights gradient can be sent away
  // meanwhile.
  if (context.wants(0)) {
    const bool vector = context.input(0)->shape().rank() == 1;
    Value* dx = ops::matmul(vector ? ops::unsqueeze(dy, {0}) : dy, context.input(1));
    context.set(0, vector ? ops::squeeze(dx, {0}) : dx);
  }
  if (!context.wants(1) && !context.wants(2)) return;
  Attributes attrs;
  if (context.wants(2)) attrs.set("bias", int64_t{1});
  Node* node = context.graph().add(op::kLinearGradWeights, {dy, context.input(0)}, std::move(attrs));
  if (context.wants(1)) context.set(1, node->output(0));
  if (context.wants(2)) context.set(2, ops::cast(node->output(1), context.input(2)->dtype()));
}

/// linear_grad_weights(dy [..., O], x [..., I]) = dy^T x [O, I] and, with attribute "bias", the sum of dy's rows [O].
/// Attribute "weights_dtype": element type of both results, if not that of dy (f32 gradients of bf16 data).
std::vector<TensorType> infer_linear_grad_weights(const InferContext& context) {
  const Shape& dy = context.shape(0);
  const Shape& x = context.shape(1);
  context.require(dy.rank() == x.rank() && dy.rank() >= 1,
                  "gradient and input must have the same number of dimensions");
  for (int i = 0; i + 1 < dy.rank(); ++i) context.require(fits(dy[i], x[i]), "dimension ", i, " differs");
  DType dtype = context.dtype(0);
  if (context.attrs().has("weights_dtype")) dtype = dtype_from_name(context.attrs().text("weights_dtype"));
  std::vector<TensorType> types{{dtype, {dy[-1], x[-1]}}};
  if (context.attrs().flag("bias")) types.push_back({dtype, {dy[-1]}});
  return types;
}

const RegisterOp kMatmul(op::kMatmul, 2, "Matrix products, broadcast over the leading dimensions.", infer_matmul,
                         matmul_gradient,
                         {attr::flag("transpose_a", "the last two dimensions of a are swapped"),
                          attr::flag("transpose_b", "the last two dimensions of b are swapped")},
                         {.traits = Trait::kComputesInBf16, .data_inputs = 2});
const RegisterOp kLinear(op::kLinear, {2, 3}, "x W^T + bias for W [O, I].", infer_linear, linear_gradient,
                         fused_activation_attributes(),
                         {.traits = Trait::kComputesInBf16 | Trait::kTakesActivation, .data_inputs = 2});
const RegisterOp kLinearGradWeights(op::kLinearGradWeights, 2, "", infer_linear_grad_weights, nullptr,
                                    {attr::flag("bias", "also gives the gradient of the bias"),
                                     attr::dtype("weights_dtype", "", "of both results, if not that of dy")});

}  // namespace

namespace ops {

Value* matmul(Value* a, Value* b, bool transpose_a, bool transpose_b, const std::string& name) {
  const bool row = a->shape().rank() == 1;
  const bool column = b->shape().rank() == 1;
  if (row) a = unsqueeze(a, {transpose_a ? 1 : 0});
  if (column) b = unsqueeze(b, {transpose_b ? 0 : 1});
  Attributes attrs;
  if (transpose_a) attrs.set("transpose_a", int64_t{1});
  if (transpose_b) attrs.set("transpose_b", int64_t{1});
  Value* result = a->graph().add(op::kMatmul, {a, b}, std::move(attrs), name)->output();
  if (row) result = squeeze(result, {-2});
  return column ? squeeze(result, {-1}) : result;
}

Value* linear(Value* x, Value* weight, Value* bias, const std::string& activation, const std::string& name) {
  Attributes attrs;
  const bool apart = activation == op::kGelu || activation == op::kGeluTanh;
  TW_REQUIRE(activation.empty() || apart || differentiable_by_output(activation), "linear '", name,
             "': unknown activation '", activation, "'");
  if (!activation.empty() && !apart) attrs.set("activation", activation);
  std::vector<Value*> inputs{x, weight};
  if (bias != nullptr) inputs.push_back(bias);
  Value* y = x->graph().add(op::kLinear, std::move(inputs), std::move(attrs), name)->output();
  return apart ? gelu(y, activation == op::kGeluTanh) : y;
}

}  // namespace ops
}  // namespace thalweg

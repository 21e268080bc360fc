// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/op_registry.h"
#include "ops/ids.h"
#include "thalweg/ops/norm.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer_softmax(const InferContext& context) {
  context.require_floating(0);
  context.axis(context.attrs().integer("axis"), context.shape(0).rank());
  return {context.type(0)};
}

/// softmax_grad(dy, y) and log_softmax_grad(dy, y): both need the output only.
void softmax_gradient(GradientContext& context) {
  const std::string op = context.node().op_name() + "_grad";
  context.set(0, context.graph().add(op, {context.output_gradient(), context.output()}, context.attrs())->output());
}

std::vector<TensorType> infer_softmax_grad(const InferContext& context) {
  context.require(context.type(0) == context.type(1), "gradient and output must have the same type");
  return infer_softmax(context);
}

void require_labels(const InferContext& context, size_t logits, size_t labels) {
  context.require_floating(logits);
  const Shape& shape = context.shape(logits);
  context.require(shape.rank() >= 2, "logits must be [N, C, ...]");
  context.require(context.dtype(labels) == DType::kI64 || context.dtype(labels) == DType::kI32,
                  "labels must be class numbers, i64 or i32");
  bool fits = context.shape(labels).rank() == shape.rank() - 1;
  for (int i = 0; fits && i < context.shape(labels).rank(); ++i) {
    const int64_t own = context.shape(labels)[i], expected = shape[i == 0 ? 0 : i + 1];
    fits = own == expected || own == kFree || expected == kFree;
  }
  context.require(fits, "labels must have the shape of the logits without dimension 1");
}

std::vector<TensorType> infer_cross_entropy(const InferContext& context) {
  require_labels(context, 0, 1);
  const double smoothing = context.attrs().real("label_smoothing");
  context.require(smoothing < 1, "label smoothing must be in [0, 1), got ", smoothing);
  return {{context.dtype(0) == DType::kF64 ? DType::kF64 : DType::kF32, context.shape(1)}};
}

void cross_entropy_gradient(GradientContext& context) {
  if (!context.wants(0)) return;
  context.set(0, context.graph()
                     .add(op::kSoftmaxCrossEntropyGrad, {context.output_gradient(), context.input(0), context.input(1)},
                          context.attrs(), context.node().name() + ".grad")
                     ->output());
}

/// softmax_cross_entropy_grad(dloss, logits, labels) = (softmax(logits) - target) * dloss
std::vector<TensorType> infer_cross_entropy_grad(const InferContext& context) {
  require_labels(context, 1, 2);
  context.require(context.shape(0).rank() == context.shape(2).rank(), "dloss must have the shape of the labels");
  return {context.type(1)};
}

const AttributeDef kAxis = attr::integer("axis", -1, "that along which the exponentials are summed");
const std::vector<AttributeDef> kLossAttributes{
    attr::integer("ignore_index", -100, "a label whose loss is 0"),
    attr::real("label_smoothing", 0.0, "the share of the target that all classes have; less than 1").between(0.0, 1.0)};

const RegisterOp kSoftmax(op::kSoftmax, 1, "exp(x), divided by its sum along an axis.", infer_softmax, softmax_gradient,
                          {kAxis});
const RegisterOp kLogSoftmax(op::kLogSoftmax, 1, "The logarithm of softmax.", infer_softmax, softmax_gradient, {kAxis});
const RegisterOp kSoftmaxGrad(op::kSoftmaxGrad, 2, "", infer_softmax_grad, nullptr, {kAxis});
const RegisterOp kLogSoftmaxGrad(op::kLogSoftmaxGrad, 2, "", infer_softmax_grad, nullptr, {kAxis});
const RegisterOp kCrossEntropy(op::kSoftmaxCrossEntropy, 2, "The loss of each label, of logits [N, C, ...].",
                               infer_cross_entropy, cross_entropy_gradient, kLossAttributes);
const RegisterOp kCrossEntropyGrad(op::kSoftmaxCrossEntropyGrad, 3, "", infer_cross_entropy_grad, nullptr,
                                   kLossAttributes);

}  // namespace

namespace ops {

Value* softmax(Value* x, int64_t axis, const std::string& name) {
  return x->graph().add(op::kSoftmax, {x}, {{"axis", axis}}, name)->output();
}

Value* log_softmax(Value* x, int64_t axis, const std::string& name) {
  return x->graph().add(op::kLogSoftmax, {x}, {{"axis", axis}}, name)->output();
}

Value* softmax_cross_entropy(Value* logits, Value* labels, int64_t ignore_index, double label_smoothing,
                             const std::string& name) {
  const Attributes attrs{{"ignore_index", ignore_index}, {"label_smoothing", label_smoothing}};
  return logits->graph().add(op::kSoftmaxCrossEntropy, {logits, labels}, attrs, name)->output();
}

}  // namespace ops
}  // namespace thalweg

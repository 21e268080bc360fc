// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Operators of the domain com.microsoft that PyTorch's exporter wrote before the standard had them, or has not yet.
#include "formats/onnx/import_standard.h"
#include "ops/ids_rare.h"
#include "thalweg/ops.h"

namespace thalweg::onnx {
namespace {

/// Under the same name in the standard, with the same inputs and attributes.
std::vector<Value*> same(const NodeContext& context) {
  std::vector<Value*> inputs;
  for (size_t i = 0; i < context.num_inputs(); ++i) inputs.push_back(context.optional(i));
  Attributes attrs = context.attrs();
  const std::string mode = context.text("mode", "");
  if (mode == "bilinear") attrs.set("mode", std::string("linear"));
  if (mode == "bicubic") attrs.set("mode", std::string("cubic"));
  return as_standard(context, context.op_type(), inputs, std::move(attrs));
}

Value* inverse(const NodeContext& context) {
  constexpr int64_t kLargest = 4096;
  Value* x = context.input(0);
  const int64_t n = x->shape().rank() >= 2 ? x->shape()[-1] : 0;
  context.require(n > 0 && n <= kLargest && x->shape()[-2] == n, "square matrices are needed, not ", x->shape());
  Tensor one = Tensor::zeros(DType::kF32, {n, n});
  for (int64_t i = 0; i < n; ++i) one.data<float>()[i * n + i] = 1;
  return context.graph().add(op::kSolve, {x, context.constant(one.to(x->dtype()))}, {}, context.name())->output();
}

Value* expand_dims(const NodeContext& context) { return ops::unsqueeze(context.input(0), context.content_integers(1)); }

const RegisterConverters kConverters(
    {
        {"ExpandDims", single(expand_dims)},
        {"GridSample", same},
        {"Inverse", single(inverse)},
        {"Pad", same},
        {"Range", same},
        {"Trilu", same},
    },
    "com.microsoft");

}  // namespace
}  // namespace thalweg::onnx

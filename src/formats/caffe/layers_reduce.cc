// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Reduction, ArgMax, BatchReindex.
#include "formats/caffe/layer_context.h"
#include "thalweg/ops.h"

namespace thalweg::caffe {
namespace {

/// Over all dimensions from one on.
std::vector<Value*> convert_reduction(LayerContext& context) {
  context.require_counts(1);
  const Fields& fields = context.fields("reduction_param");
  Value* x = context.bottom();
  const std::string operation = fields.choice("operation", "SUM", {"SUM", "ASUM", "SUMSQ", "MEAN"}, 1);
  const double factor = fields.real("coeff", 1.0);
  std::vector<int64_t> axes;
  for (int d = context.axis(fields, "axis", 0, x->shape().rank()); d < x->shape().rank(); ++d) axes.push_back(d);
  Value* result = operation == "SUM"     ? ops::reduce_sum(x, axes)
                  : operation == "ASUM"  ? ops::reduce_l1(x, axes)
                  : operation == "SUMSQ" ? ops::reduce_sum(ops::square(x), axes)
                                         : ops::reduce_mean(x, axes);
  return {factor == 1 ? result : ops::mul(result, factor)};
}

/// Without an axis over all dimensions but the first, which gives [N, 1, top_k], or with the values too [N, 2, top_k].
std::vector<Value*> convert_arg_max(LayerContext& context) {
  context.require_counts(1);
  const Fields& fields = context.fields("argmax_param");
  Value* x = context.bottom();
  const int64_t count = fields.integer("top_k", 1, 1);
  const bool values = fields.flag("out_max_val", false);
  if (fields.has("axis")) {
    const ops::TopK best = ops::top_k(x, count, context.axis(fields, "axis", 0, x->shape().rank()));
    return {values ? best.values : ops::cast(best.indices, x->dtype())};
  }
  const ops::TopK best = ops::top_k(ops::flatten(x), count);
  Value* indices = ops::unsqueeze(ops::cast(best.indices, x->dtype()), {1});
  return {values ? ops::concat({indices, ops::unsqueeze(best.values, {1})}, 1) : indices};
}

/// Samples of a batch by their numbers.
std::vector<Value*> convert_batch_reindex(LayerContext& context) {
  context.require_counts(2);
  return {ops::gather(context.bottom(0), ops::cast(context.bottom(1), DType::kI64), 0)};
}

const RegisterLayers kLayers({
    {"Reduction", convert_reduction},
    {"ArgMax", convert_arg_max},
    {"BatchReindex", convert_batch_reindex},
});

}  // namespace
}  // namespace thalweg::caffe

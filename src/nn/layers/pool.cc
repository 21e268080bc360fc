// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/nn/pool.h"

#include "thalweg/ops/conv.h"

namespace thalweg::nn {
namespace {

void check_rank(const Scope& scope, const char* layer, const Value* x, int rank) {
  scope.require(x->shape().rank() == rank + 2, layer, "takes [N, C] and ", rank, " spatial dimensions, got ",
                x->shape());
}

}  // namespace

template <int Rank>
Value* MaxPool<Rank>::forward(const Scope& scope, Value* x) const {
  check_rank(scope, "MaxPool", x, Rank);
  ops::PoolOptions pool;
  pool.kernel = kernel_.expand(Rank, "kernel_size");
  pool.strides = options_.stride.value_or(kernel_).expand(Rank, "stride");
  pool.pads = options_.padding.expand(Rank, "padding");
  pool.dilations = options_.dilation.expand(Rank, "dilation");
  pool.ceil_mode = options_.ceil_mode;
  return ops::max_pool(x, pool, scope.path());
}

template <int Rank>
Value* AvgPool<Rank>::forward(const Scope& scope, Value* x) const {
  check_rank(scope, "AvgPool", x, Rank);
  ops::PoolOptions pool;
  pool.kernel = kernel_.expand(Rank, "kernel_size");
  pool.strides = options_.stride.value_or(kernel_).expand(Rank, "stride");
  pool.pads = options_.padding.expand(Rank, "padding");
  pool.ceil_mode = options_.ceil_mode;
  pool.count_include_pad = options_.count_include_pad;
  return ops::avg_pool(x, pool, scope.path());
}

template <int Rank, bool kMax>
Value* AdaptivePool<Rank, kMax>::forward(const Scope& scope, Value* x) const {
  check_rank(scope, "AdaptivePool", x, Rank);
  const std::vector<int64_t> size = output_.expand(Rank, "output_size");
  const bool global = size == std::vector<int64_t>(static_cast<size_t>(Rank), 1);
  if (global) return kMax ? ops::global_max_pool(x, scope.path()) : ops::global_avg_pool(x, scope.path());
  return kMax ? ops::adaptive_max_pool(x, size, scope.path()) : ops::adaptive_avg_pool(x, size, scope.path());
}

template class MaxPool<1>;
template class MaxPool<2>;
template class MaxPool<3>;
template class AvgPool<1>;
template class AvgPool<2>;
template class AvgPool<3>;
template class AdaptivePool<1, false>;
template class AdaptivePool<2, false>;
template class AdaptivePool<3, false>;
template class AdaptivePool<1, true>;
template class AdaptivePool<2, true>;
template class AdaptivePool<3, true>;

}  // namespace thalweg::nn

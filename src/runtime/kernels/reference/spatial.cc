// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Pools, interpolation and their gradients: products of one AxisMap per spatial dimension.
#include <limits>
#include <type_traits>

#include "ops/axis_map.h"
#include "ops/ids.h"
#include "runtime/kernels/reference/reference.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

/// Calls start(target), then step(target, source, tap, weight) for all that target is computed from.
template <typename Start, typename Step>
void for_each_target(const ReferenceCall& call, Start start, Step step) {
  const AxisMaps maps = spatial_maps(call.node);
  const auto& [depth, height, width] = maps;
  const int64_t planes = call.out().shape()[0] * call.out().shape()[1];
  const auto each = [](const AxisMap& map, int64_t target, auto body) {
    for (auto e = map.begin[static_cast<size_t>(target)]; e < map.begin[static_cast<size_t>(target) + 1]; ++e) {
      body(map.list[static_cast<size_t>(e)]);
    }
  };
  int64_t target = 0;
  for (int64_t plane = 0; plane < planes; ++plane) {
    for (int64_t position = 0; position < depth.targets() * height.targets() * width.targets(); ++position, ++target) {
      start(target);
      each(depth, position / width.targets() / height.targets(), [&](const AxisEntry& a) {
        each(height, position / width.targets() % height.targets(), [&](const AxisEntry& b) {
          each(width, position % width.targets(), [&](const AxisEntry& c) {
            const int64_t row = (plane * depth.sources + a.index) * height.sources + b.index;
            const int64_t tap = (a.tap * height.taps + b.tap) * width.taps + c.tap;
            step(target, row * width.sources + c.index, tap, a.weight * b.weight * c.weight);
          });
        });
      });
    }
  }
}

void weighted(const ReferenceCall& call) {
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = call.in(0).data<T>();
    T* y = call.out().data<T>();
    for_each_target(
        call, [&](int64_t t) { y[t] = T{0}; },
        [&](int64_t t, int64_t s, int64_t, double weight) { y[t] += static_cast<T>(weight) * x[s]; });
  });
}

/// The first tap that is seen stands even if every element is -infinity.
template <typename T, typename Index>
void max_pool_of(const ReferenceCall& call) {
  const T* x = call.in(0).data<T>();
  T* y = call.out().data<T>();
  auto* index = call.out(1).data<Index>();
  bool fresh = true;
  for_each_target(
      call,
      [&](int64_t t) {
        if constexpr (std::is_floating_point_v<T>) y[t] = -std::numeric_limits<T>::infinity();
        index[t] = 0;
        fresh = true;
      },
      [&](int64_t t, int64_t s, int64_t tap, double) {
        if (fresh || x[s] > y[t] || x[s] != x[s]) {
          y[t] = x[s];
          index[t] = static_cast<Index>(tap);
        }
        fresh = false;
      });
}

void max_pool(const ReferenceCall& call) {
  dispatch_arithmetic(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    call.out(1).dtype() == DType::kU8 ? max_pool_of<T, uint8_t>(call) : max_pool_of<T, int32_t>(call);
  });
}

void max_pool_grad(const ReferenceCall& call) {
  const Tensor index = call.in(1).to(DType::kI32);
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* dy = call.in(0).data<T>();
    T* dx = call.out().data<T>();
    for_each_target(
        call, [&](int64_t t) { dx[t] = T{0}; },
        [&](int64_t t, int64_t s, int64_t tap, double) {
          if (index.data<int32_t>()[s] == tap) dx[t] += dy[s];
        });
  });
}

const RegisterReference kMaxPool(op::kMaxPool, max_pool);
const RegisterReference kMaxPoolGrad(op::kMaxPoolGrad, max_pool_grad);
const RegisterReference kAvgPool(op::kAvgPool, weighted);
const RegisterReference kAvgPoolGrad(op::kAvgPoolGrad, weighted);
const RegisterReference kInterpolate(op::kInterpolate, weighted);
const RegisterReference kInterpolateGrad(op::kInterpolateGrad, weighted);

}  // namespace
}  // namespace thalweg

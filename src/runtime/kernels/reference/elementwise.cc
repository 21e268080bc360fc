// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>

#include "runtime/kernels/reference/broadcast_index.h"
#include "runtime/kernels/reference/reference.h"
#include "runtime/kernels/wrapping.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

template <typename T, typename R, typename F>
void apply_binary(const ReferenceCall& call, F function) {
  const BroadcastIndex left(call.in(0).shape(), call.out().shape());
  const BroadcastIndex right(call.in(1).shape(), call.out().shape());
  const T* a = call.in(0).data<T>();
  const T* b = call.in(1).data<T>();
  R* y = call.out().data<R>();
  for (int64_t i = 0; i < call.out().num_elements(); ++i) y[i] = function(a[left(i)], b[right(i)]);
}

/// An op on numbers whose result has their type.
template <typename F>
void arithmetic(const char* op, F function) {
  RegisterReference(op, [function](const ReferenceCall& call) {
    dispatch_arithmetic(call.in(0).dtype(), [&](auto tag) {
      using T = decltype(tag);
      apply_binary<T, T>(call, [&](T a, T b) { return static_cast<T>(function(a, b)); });
    });
  });
}

template <typename F>
void comparison(const char* op, F function) {
  RegisterReference(op, [function](const ReferenceCall& call) {
    if (call.in(0).dtype() == DType::kBool) {
      apply_binary<bool, bool>(call, function);
      return;
    }
    dispatch_arithmetic(call.in(0).dtype(), [&](auto tag) { apply_binary<decltype(tag), bool>(call, function); });
  });
}

template <typename F>
void logical(const char* op, F function) {
  RegisterReference(op, [function](const ReferenceCall& call) { apply_binary<bool, bool>(call, function); });
}

void where(const ReferenceCall& call) {
  const BroadcastIndex condition(call.in(0).shape(), call.out().shape());
  const BroadcastIndex left(call.in(1).shape(), call.out().shape());
  const BroadcastIndex right(call.in(2).shape(), call.out().shape());
  const bool* chosen = call.in(0).data<bool>();
  dispatch(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    T* y = call.out().data<T>();
    for (int64_t i = 0; i < call.out().num_elements(); ++i) {
      y[i] = chosen[condition(i)] ? call.in(1).data<T>()[left(i)] : call.in(2).data<T>()[right(i)];
    }
  });
}

void cast(const ReferenceCall& call) {
  const Tensor converted = call.in(0).to(call.out().dtype());
  std::memcpy(call.out().raw(), converted.raw(), converted.num_bytes());
}

void logical_not(const ReferenceCall& call) {
  for (int64_t i = 0; i < call.out().num_elements(); ++i) call.out().data<bool>()[i] = !call.in(0).data<bool>()[i];
}

struct RegisterAll {
  RegisterAll() {
    arithmetic("add", [](auto a, auto b) { return wrapping_sum(a, b); });
    arithmetic("sub", [](auto a, auto b) { return wrapping_difference(a, b); });
    arithmetic("mul", [](auto a, auto b) { return wrapping_product(a, b); });
    arithmetic("div", [](auto a, auto b) { return wrapping_quotient(a, b); });
    arithmetic("pow", [](auto a, auto b) { return convert_element<decltype(a)>(std::pow(a, b)); });
    arithmetic("minimum", [](auto a, auto b) { return b < a || b != b ? b : a; });
    arithmetic("maximum", [](auto a, auto b) { return a < b || b != b ? b : a; });
    comparison("equal", [](auto a, auto b) { return a == b; });
    comparison("less", [](auto a, auto b) { return a < b; });
    comparison("less_equal", [](auto a, auto b) { return a <= b; });
    comparison("greater", [](auto a, auto b) { return a > b; });
    comparison("greater_equal", [](auto a, auto b) { return a >= b; });
    logical("logical_and", [](bool a, bool b) { return a && b; });
    logical("logical_or", [](bool a, bool b) { return a || b; });
    logical("logical_xor", [](bool a, bool b) { return a != b; });
    RegisterReference("logical_not", logical_not);
    RegisterReference("where", where);
    RegisterReference("cast", cast);
  }
};
const RegisterAll kAll;

}  // namespace
}  // namespace thalweg

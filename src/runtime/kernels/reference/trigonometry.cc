// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "runtime/kernels/reference/reference.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

template <typename F>
void function(const char* op, F value) {
  RegisterReference(op, [value](const ReferenceCall& call) {
    dispatch_real(call.in(0).dtype(), [&](auto tag) {
      using T = decltype(tag);
      const T* x = call.in(0).data<T>();
      T* y = call.out().data<T>();
      for (int64_t i = 0; i < call.out().num_elements(); ++i) y[i] = value(x[i]);
    });
  });
}

struct RegisterAll {
  RegisterAll() {
    function("tan", [](auto x) { return std::tan(x); });
    function("asin", [](auto x) { return std::asin(x); });
    function("acos", [](auto x) { return std::acos(x); });
    function("atan", [](auto x) { return std::atan(x); });
    function("sinh", [](auto x) { return std::sinh(x); });
    function("cosh", [](auto x) { return std::cosh(x); });
    function("asinh", [](auto x) { return std::asinh(x); });
    function("acosh", [](auto x) { return std::acosh(x); });
    function("atanh", [](auto x) { return std::atanh(x); });
  }
};
const RegisterAll kAll;

}  // namespace
}  // namespace thalweg

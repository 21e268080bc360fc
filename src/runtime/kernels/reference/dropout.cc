// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/random_mask.h"
#include "runtime/kernels/reference/reference.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

void dropout(const ReferenceCall& call) {
  const double probability = call.attrs().real("probability");
  const RandomMask mask(probability, call.attrs().integer("seed"), call.step);
  dispatch_real(call.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = call.in(0).data<T>();
    for (int64_t i = 0; i < call.out().num_elements(); ++i) {
      const bool kept = mask.keeps(static_cast<uint64_t>(i));
      call.out().data<T>()[i] = kept ? static_cast<T>(x[i] / (1 - probability)) : T{0};
    }
  });
}

const RegisterReference kDropout("dropout", dropout);
const RegisterReference kDropoutGrad("dropout_grad", dropout);

}  // namespace
}  // namespace thalweg

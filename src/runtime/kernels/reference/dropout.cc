// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "ops/ids.h"
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

void gaussian_noise(const ReferenceCall& call) {
  const RandomBits bits(call.attrs().integer("seed"), call.step);
  const double deviation = call.attrs().real("deviation");
  dispatch_real(call.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0; i < call.out().num_elements(); ++i) {
      const double noise = deviation * bits.normal_at(static_cast<uint64_t>(i));
      call.out().data<T>()[i] = static_cast<T>(call.in(0).data<T>()[i] + noise);
    }
  });
}

const RegisterReference kGaussianNoise(op::kGaussianNoise, gaussian_noise);
const RegisterReference kDropout(op::kDropout, dropout);
const RegisterReference kDropoutGrad(op::kDropoutGrad, dropout);

}  // namespace
}  // namespace thalweg

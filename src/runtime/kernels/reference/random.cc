// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "ops/ids_rare.h"
#include "runtime/kernels/random_mask.h"
#include "runtime/kernels/reference/reference.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

template <typename Draw>
void fill(const ReferenceCall& call, Draw draw) {
  const RandomBits bits(call.attrs().integer("seed"), call.step);
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0; i < call.out().num_elements(); ++i) {
      call.out().data<T>()[i] = static_cast<T>(draw(bits, static_cast<uint64_t>(i)));
    }
  });
}

void uniform(const ReferenceCall& call) {
  const double low = call.attrs().real("low"), width = call.attrs().real("high") - low;
  // 24 bits: f32 holds every such number, so that none is rounded up to the upper end.
  fill(call, [&](const RandomBits& bits, uint64_t i) { return low + width * ((bits.at(i) >> 8) * 0x1p-24); });
}

void normal(const ReferenceCall& call) {
  const double mean = call.attrs().real("mean"), deviation = call.attrs().real("deviation");
  fill(call, [&](const RandomBits& bits, uint64_t i) { return mean + deviation * bits.normal_at(i); });
}

const RegisterReference kUniform(op::kRandomUniform, uniform);
const RegisterReference kNormal(op::kRandomNormal, normal);

}  // namespace
}  // namespace thalweg

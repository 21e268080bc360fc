// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// hard_negatives(losses [N, P], matches i64 [N, P]) -> bool [N, P]
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/op_registry.h"
#include "ops/ids_rare.h"
#include "tensor/dtype.h"
#include "thalweg/ops/matching.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer(const InferContext& context) {
  context.require_floating(0);
  context.require_rank(0, 2);
  context.require_rank(1, 2);
  context.require(context.dtype(1) == DType::kI64, "matches must be i64");
  for (int d = 0; d < 2; ++d) {
    const int64_t losses = context.shape(0)[d], matches = context.shape(1)[d];
    context.require(losses == matches || losses == kFree || matches == kFree, "there are losses of ", context.shape(0),
                    " and matches of ", context.shape(1));
  }
  return {{DType::kBool, context.shape(0)}};
}

/// Of equal losses the first count.
template <typename T>
void mine(const T* losses, const int64_t* matches, int64_t priors, double ratio, bool* out) {
  std::fill_n(out, priors, false);
  std::vector<int64_t> negatives;
  int64_t positives = 0;
  for (int64_t p = 0; p < priors; ++p) {
    if (matches[p] == ops::kNoObject) negatives.push_back(p);
    positives += matches[p] >= 0 ? 1 : 0;
  }
  const double wanted = ratio * static_cast<double>(positives);
  const auto all = static_cast<double>(negatives.size());
  const auto count = static_cast<std::ptrdiff_t>(std::min(wanted, all));
  // What is not a number comes first, so that there is an order in any case.
  const auto loss = [&](int64_t p) { return std::isnan(losses[p]) ? std::numeric_limits<T>::infinity() : losses[p]; };
  const auto harder = [&](int64_t a, int64_t b) { return loss(a) != loss(b) ? loss(a) > loss(b) : a < b; };
  std::partial_sort(negatives.begin(), negatives.begin() + count, negatives.end(), harder);
  for (std::ptrdiff_t i = 0; i < count; ++i) out[negatives[static_cast<size_t>(i)]] = true;
}

void reference(const ReferenceCall& call) {
  const double ratio = call.attrs().real("ratio");
  dispatch_real(call.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    const int64_t priors = call.in(0).shape()[1];
    for (int64_t n = 0; n < call.in(0).shape()[0]; ++n) {
      mine(call.in(0).data<T>() + n * priors, call.in(1).data<int64_t>() + n * priors, priors, ratio,
           call.out().data<bool>() + n * priors);
    }
  });
}

const RegisterOp kHardNegatives(
    op::kHardNegatives, 2, "The background priors with the largest losses, so many for each that has an object.", infer,
    nullptr, {attr::real("ratio", 3.0, "of background priors for each that has an object").between(0.0, 1e6)},
    {.zero_gradient = true, .reference = reference, .data_inputs = 0});

}  // namespace

namespace ops {

Value* hard_negatives(Value* losses, Value* matches, double ratio, const std::string& name) {
  return losses->graph().add(op::kHardNegatives, {losses, matches}, {{"ratio", ratio}}, name)->output();
}

}  // namespace ops
}  // namespace thalweg

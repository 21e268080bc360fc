// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/attention_heads.h"
#include "ops/broadcast_index.h"
#include "ops/ids.h"
#include "runtime/kernels/reference/reference.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

using Vector = std::vector<double>;

/// One head of one sequence.
template <typename T>
struct Head {
  const ReferenceCall& call;
  const AttentionShape& shape;
  int64_t b, h;

  const T* at(const Tensor& tensor, const HeadStrides& strides, int64_t time) const {
    return tensor.data<T>() + strides.offset + b * strides.batch + h * strides.head + time * strides.time;
  }
  T* at_mutable(const Tensor& tensor, const HeadStrides& strides, int64_t time) const {
    return const_cast<T*>(at(tensor, strides, time));
  }
  const Tensor& keys() const { return call.in(shape.packed ? 0 : 1); }
  const Tensor& values() const { return call.in(shape.packed ? 0 : 2); }

  /// Scores of one query; minus infinity where it must not look.
  Vector scores(int64_t query) const {
    const double nothing = -std::numeric_limits<double>::infinity();
    Vector result(static_cast<size_t>(shape.keys), nothing);
    const Shape full{shape.batch, shape.heads, shape.queries, shape.keys};
    for (int64_t s = 0; s < shape.visible(query); ++s) {
      double sum = dot(at(call.in(0), shape.q, query), at(keys(), shape.k, s), shape.width) * shape.scale;
      if (call.has(3)) {
        const BroadcastIndex index(call.in(3).shape(), full);
        const int64_t place = ((b * shape.heads + h) * shape.queries + query) * shape.keys + s;
        sum += static_cast<double>(call.in(3).data<T>()[index(place)]);
      }
      result[static_cast<size_t>(s)] = sum;
    }
    return result;
  }

  static double dot(const T* x, const T* y, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    return sum;
  }
};

/// Turns scores into probabilities and returns the logarithm of the sum of their exponentials. A query that sees
/// nothing has probabilities of zero.
double softmax(Vector& scores) {
  double largest = -std::numeric_limits<double>::infinity();
  for (double score : scores) largest = std::fmax(largest, score);
  if (std::isinf(largest) && largest < 0) {
    for (double& score : scores) score = 0;
    return largest;
  }
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - largest);
  for (double& score : scores) score /= sum;
  return largest + std::log(sum);
}

AttentionShape shape_of(const ReferenceCall& call) {
  const bool packed = call.attrs().text("layout") == "packed";
  return {call.attrs(), call.in(0).shape(), call.in(packed ? 0 : 1).shape(), call.in(packed ? 0 : 2).shape()};
}

template <typename T>
void forward_head(const Head<T>& head) {
  const AttentionShape& shape = head.shape;
  for (int64_t t = 0; t < shape.queries; ++t) {
    Vector p = head.scores(t);
    const double sum = softmax(p);
    head.call.out(1).template data<T>()[(head.b * shape.heads + head.h) * shape.queries + t] = static_cast<T>(sum);
    T* y = head.at_mutable(head.call.out(0), shape.y, t);
    for (int64_t d = 0; d < shape.value_width; ++d) {
      double value = 0;
      for (int64_t s = 0; s < shape.keys; ++s) {
        value += p[static_cast<size_t>(s)] * static_cast<double>(head.at(head.values(), shape.v, s)[d]);
      }
      y[d] = static_cast<T>(value);
    }
  }
}

template <typename T>
void backward_query(const Head<T>& head, int64_t t) {
  const AttentionShape& shape = head.shape;
  const ReferenceCall& call = head.call;
  Vector p = head.scores(t);
  softmax(p);
  const T* dy = head.at(call.in(6), shape.y, t);
  const double delta = Head<T>::dot(dy, head.at(call.in(4), shape.y, t), shape.value_width);
  T* dq = head.at_mutable(call.out(0), shape.q, t);
  const bool with_scores = call.attrs().flag("mask_gradient");
  for (int64_t s = 0; s < shape.keys; ++s) {
    const double weight = p[static_cast<size_t>(s)];
    const double dp = Head<T>::dot(dy, head.at(head.values(), shape.v, s), shape.value_width);
    const double ds = weight * (dp - delta);
    T* dk = head.at_mutable(call.out(shape.packed ? 0 : 1), shape.k, s);
    T* dv = head.at_mutable(call.out(shape.packed ? 0 : 2), shape.v, s);
    const T* q = head.at(call.in(0), shape.q, t);
    const T* k = head.at(head.keys(), shape.k, s);
    for (int64_t d = 0; d < shape.width; ++d) {
      dq[d] += static_cast<T>(ds * shape.scale * static_cast<double>(k[d]));
      dk[d] += static_cast<T>(ds * shape.scale * static_cast<double>(q[d]));
    }
    for (int64_t d = 0; d < shape.value_width; ++d) dv[d] += static_cast<T>(weight * static_cast<double>(dy[d]));
    if (!with_scores) continue;
    const int64_t place = ((head.b * shape.heads + head.h) * shape.queries + t) * shape.keys + s;
    call.out(call.outputs.size() - 1).template data<T>()[place] = static_cast<T>(ds);
  }
}

template <typename Body>
void for_each_head(const ReferenceCall& call, Body body) {
  const AttentionShape shape = shape_of(call);
  dispatch_real(call.out().dtype(), [&](auto tag) {
    for (int64_t b = 0; b < shape.batch; ++b) {
      for (int64_t h = 0; h < shape.heads; ++h) body(Head<decltype(tag)>{call, shape, b, h});
    }
  });
}

void forward(const ReferenceCall& call) {
  for_each_head(call, [](const auto& head) { forward_head(head); });
}

void backward(const ReferenceCall& call) {
  for (Tensor& out : call.outputs) std::memset(out.raw(), 0, out.num_bytes());
  for_each_head(call, [](const auto& head) {
    for (int64_t t = 0; t < head.shape.queries; ++t) backward_query(head, t);
  });
}

const RegisterReference kAttention(op::kAttention, forward);
const RegisterReference kAttentionGrad(op::kAttentionGrad, backward);

}  // namespace
}  // namespace thalweg

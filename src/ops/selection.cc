// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Operators that keep as many elements as the data decides.
#include <algorithm>
#include <numeric>

#include "graph/host_op.h"
#include "ops/host_arrays.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

std::vector<Tensor> non_zero(const HostContext& call) {
  const Tensor& x = call.input(0);
  const Tensor truth = x.to(DType::kBool);
  const int rank = x.shape().rank();
  std::vector<int64_t> places;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    if (truth.data<bool>()[i]) places.push_back(i);
  }
  const auto count = static_cast<int64_t>(places.size());
  Tensor result(DType::kI64, {rank, count});
  const std::vector<int64_t> strides = x.shape().strides();
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = places[static_cast<size_t>(i)];
    for (int d = 0; d < rank; ++d) {
      result.data<int64_t>()[d * count + i] = rest / strides[static_cast<size_t>(d)];
      rest %= strides[static_cast<size_t>(d)];
    }
  }
  return {result};
}

/// A tensor as rows along an axis: [outer, size, inner bytes].
struct Rows {
  int64_t outer, size;
  size_t inner;
};

Rows rows_of(const Tensor& x, int axis) {
  return {x.shape().num_elements(0, axis), x.shape()[axis],
          static_cast<size_t>(x.shape().num_elements(axis + 1, x.shape().rank())) * size_of(x.dtype())};
}

int axis_of(const HostContext& call, const Tensor& x) {
  return checked_axis(call.integer("axis", 0), x.shape().rank());
}

std::vector<Tensor> compress(const HostContext& call) {
  const bool flat = !call.has_attribute("axis");
  const Tensor x = flat ? call.input(0).reshaped({call.input(0).num_elements()}) : call.input(0);
  const int axis = flat ? 0 : axis_of(call, x);
  const Tensor condition = call.input(1).to(DType::kBool);
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < std::min(condition.num_elements(), x.shape()[axis]); ++i) {
    if (condition.data<bool>()[i]) kept.push_back(i);
  }
  return {take(x, axis, kept)};
}

/// Compares two of the parts that Unique tells apart.
template <typename T>
int compare(const Tensor& x, const Rows& rows, int64_t a, int64_t b) {
  const auto width = static_cast<int64_t>(rows.inner / sizeof(T));
  for (int64_t o = 0; o < rows.outer; ++o) {
    const T* left = x.data<T>() + (o * rows.size + a) * width;
    const T* right = x.data<T>() + (o * rows.size + b) * width;
    for (int64_t i = 0; i < width; ++i) {
      if (left[i] < right[i]) return -1;
      if (right[i] < left[i]) return 1;
    }
  }
  return 0;
}

Tensor from(const std::vector<int64_t>& values) {
  return Tensor::from<int64_t>({static_cast<int64_t>(values.size())}, values);
}

std::vector<Tensor> unique(const HostContext& call) {
  const bool flat = !call.has_attribute("axis");
  const DType dtype = call.input(0).dtype();
  const bool two_bytes = dtype == DType::kBF16 || dtype == DType::kF16;
  const Tensor given = two_bytes ? call.input(0).to(DType::kF32) : call.input(0);
  const Tensor x = flat ? given.reshaped({given.num_elements()}) : given;
  const int axis = flat ? 0 : axis_of(call, x);
  const Rows rows = rows_of(x, axis);
  std::vector<int64_t> order(static_cast<size_t>(rows.size));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::vector<int64_t> first, inverse(order.size()), counts;
  dispatch_arithmetic(x.dtype(), [&](auto tag) {
    using T = decltype(tag);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return compare<T>(x, rows, a, b) < 0; });
    for (size_t i = 0; i < order.size(); ++i) {
      if (i == 0 || compare<T>(x, rows, order[i - 1], order[i]) != 0) {
        first.push_back(order[i]);
        counts.push_back(0);
      }
      inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(first.size()) - 1;
      ++counts.back();
    }
  });
  if (!call.flag("sorted", true)) {
    // In the order in which they first occur.
    std::vector<int64_t> by_place(first.size()), place_of(first.size());
    std::iota(by_place.begin(), by_place.end(), int64_t{0});
    std::sort(by_place.begin(), by_place.end(),
              [&](int64_t a, int64_t b) { return first[static_cast<size_t>(a)] < first[static_cast<size_t>(b)]; });
    std::vector<int64_t> first_again, counts_again;
    for (size_t i = 0; i < by_place.size(); ++i) {
      place_of[static_cast<size_t>(by_place[i])] = static_cast<int64_t>(i);
      first_again.push_back(first[static_cast<size_t>(by_place[i])]);
      counts_again.push_back(counts[static_cast<size_t>(by_place[i])]);
    }
    for (int64_t& group : inverse) group = place_of[static_cast<size_t>(group)];
    first = first_again;
    counts = counts_again;
  }
  return {take(x, axis, first).to(dtype), from(first), from(inverse), from(counts)};
}

const RegisterHost kNonZero("onnx.NonZero", non_zero);
const RegisterHost kCompress("onnx.Compress", compress);
const RegisterHost kUnique("onnx.Unique", unique);

}  // namespace
}  // namespace thalweg

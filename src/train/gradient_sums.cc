// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "train/gradient_sums.h"

#include <algorithm>
#include <numeric>

#include "thalweg/optim.h"

namespace thalweg {

double norm_squared(const GradientView& view, int64_t row_size) {
  if (view.dense != nullptr) return optim::norm_squared({view.dense, view.num_floats});
  std::vector<int64_t> order(static_cast<size_t>(view.num_rows));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return view.indices[a] < view.indices[b]; });
  std::vector<float> sum(static_cast<size_t>(row_size));
  double total = 0;
  for (size_t i = 0; i < order.size();) {
    const int64_t row = view.indices[order[i]];
    std::fill(sum.begin(), sum.end(), 0.0F);
    for (; i < order.size() && view.indices[order[i]] == row; ++i) {
      for (int64_t k = 0; k < row_size; ++k) sum[static_cast<size_t>(k)] += view.rows[order[i] * row_size + k];
    }
    total += optim::norm_squared(sum);
  }
  return total;
}

void GradientSums::add(const GradientView& view, int64_t row_size, double weight) {
  Sum& sum = sums_[view.variable];
  const auto factor = static_cast<float>(weight);
  if (view.dense != nullptr) {
    sum.dense.resize(view.num_floats);
    float* to = sum.dense.data();
    const auto count = static_cast<int64_t>(view.num_floats);
#pragma omp parallel for simd if (count > 65536)
    for (int64_t i = 0; i < count; ++i) to[i] += factor * view.dense[i];
    return;
  }
  sum.indices.insert(sum.indices.end(), view.indices, view.indices + view.num_rows);
  const size_t old = sum.rows.size();
  sum.rows.resize(old + static_cast<size_t>(view.num_rows * row_size));
  std::transform(view.rows, view.rows + view.num_rows * row_size, sum.rows.begin() + static_cast<int64_t>(old),
                 [&](float x) { return factor * x; });
}

std::vector<GradientView> GradientSums::views() {
  std::vector<GradientView> result;
  for (auto& [variable, sum] : sums_) {
    const bool sparse = sum.dense.empty();
    result.push_back({variable, sparse ? nullptr : sum.dense.data(), sum.dense.size(), sum.indices.data(),
                      sum.rows.data(), static_cast<int64_t>(sum.indices.size())});
  }
  return result;
}

void GradientSums::clear() {
  for (auto& [variable, sum] : sums_) {
    std::fill(sum.dense.begin(), sum.dense.end(), 0.0F);
    sum.indices.clear();
    sum.rows.clear();
  }
  total_weight_ = 0;
  batches_ = 0;
}

}  // namespace thalweg

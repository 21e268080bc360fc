// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/outbox.h"

#include <algorithm>

namespace thalweg::sync {

void Outbox::add(GradientBuckets& gradients, const std::map<size_t, Factors>& more, double step_weight,
                 double learning_rate) {
  for (const auto& [variable, factor] : more) factors[variable].append(factor.left, factor.right, factor.rows, 1);
  gradients.take_complete(true);
  for (const std::span<float> values : gradients.all()) {
    dense.resize(values.size());
#pragma omp simd
    for (size_t i = 0; i < values.size(); ++i) dense[i] += values[i];
  }
  sparse.resize(gradients.sparse().size());
  for (size_t i = 0; i < sparse.size(); ++i) {
    const SparseRows& rows = gradients.sparse()[i];
    sparse[i].variable = rows.variable;
    sparse[i].row_size = rows.row_size;
    sparse[i].table_rows = rows.table_rows;
    sparse[i].indices.insert(sparse[i].indices.end(), rows.indices.begin(), rows.indices.end());
    sparse[i].rows.insert(sparse[i].rows.end(), rows.rows.begin(), rows.rows.end());
  }
  weight += step_weight;
  weighted_rate += step_weight * learning_rate;
  rate = learning_rate;
  filled = true;
}

void Outbox::clear() {
  std::fill(dense.begin(), dense.end(), 0.0F);
  for (SparseRows& rows : sparse) {
    rows.indices.clear();
    rows.rows.clear();
  }
  factors.clear();
  weight = weighted_rate = 0;
  filled = bad = false;
}

}  // namespace thalweg::sync

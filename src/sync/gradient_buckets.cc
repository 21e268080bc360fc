// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/gradient_buckets.h"

#include <algorithm>

#include "thalweg/comm.h"

namespace thalweg::sync {
namespace {

void scale_into(float* to, const float* from, size_t count, double weight) {
  const auto factor = static_cast<float>(weight);
#pragma omp simd
  for (size_t i = 0; i < count; ++i) to[i] = factor * from[i];
}

void scale(float* values, size_t count, double weight) {
  const auto factor = static_cast<float>(weight);
  if (factor == 1.0F) return;
#pragma omp simd
  for (size_t i = 0; i < count; ++i) values[i] *= factor;
}

/// Of those that are copied.
size_t dense_bytes(const std::vector<TrainedVariable>& trained, size_t in_place_bytes) {
  size_t total = 0;
  for (const TrainedVariable& entry : trained) {
    const size_t bytes = entry.num_floats * sizeof(float);
    if (!entry.sparse && bytes < in_place_bytes) total += bytes;
  }
  return total;
}

}  // namespace

GradientBuckets::GradientBuckets(const std::vector<TrainedVariable>& trained, size_t bucket_bytes,
                                 size_t in_place_bytes)
    : memory_(dense_bytes(trained, in_place_bytes)) {
  bool begin_bucket = true;
  auto* next = static_cast<float*>(memory_.data());
  for (const TrainedVariable& entry : trained) {
    if (entry.sparse) {
      place_[entry.variable] = sparse_.size();
      const auto table_rows = static_cast<int64_t>(entry.num_floats) / entry.row_size;
      sparse_.push_back({entry.variable, entry.row_size, table_rows, {}, {}});
      continue;
    }
    const bool in_place = entry.num_floats * sizeof(float) >= in_place_bytes;
    if (begin_bucket || in_place) buckets_.push_back({{in_place ? nullptr : next, 0}, 0, 0});
    Bucket& bucket = buckets_.back();
    place_[entry.variable] = items_.size();
    items_.push_back({entry.variable, buckets_.size() - 1, in_place ? nullptr : next, entry.num_floats, in_place, false,
                      AlignedBuffer()});
    ++bucket.items;
    begin_bucket = in_place;
    if (in_place) continue;
    bucket.values = {bucket.values.data(), bucket.values.size() + entry.num_floats};
    begin_bucket = bucket.values.size_bytes() >= bucket_bytes;
    next += entry.num_floats;
  }
  begin_step();
}

void GradientBuckets::begin_step() {
  for (Item& item : items_) item.filled = false;
  for (Bucket& bucket : buckets_) bucket.missing = bucket.items;
  for (SparseRows& rows : sparse_) {
    rows.indices.clear();
    rows.rows.clear();
  }
  taken_ = 0;
}

void GradientBuckets::add(const GradientView& gradient, double weight) {
  const auto found = place_.find(gradient.variable);
  TW_REQUIRE(found != place_.end(), "a gradient has come for a parameter that was not trained when the group formed");
  if (gradient.dense == nullptr) {
    SparseRows& rows = sparse_[found->second];
    rows.indices.assign(gradient.indices, gradient.indices + gradient.num_rows);
    rows.rows.resize(static_cast<size_t>(gradient.num_rows * rows.row_size));
    scale_into(rows.rows.data(), gradient.rows, rows.rows.size(), weight);
    return;
  }
  Item& item = items_[found->second];
  TW_REQUIRE(item.floats == gradient.num_floats && !item.filled, "a gradient has come twice, or in another size");
  if (item.in_place && gradient.own_memory) {
    item.data = gradient.dense;
    scale(item.data, item.floats, weight);
    buckets_[item.bucket].values = {item.data, item.floats};
  } else {
    if (item.in_place) use_copy(item);
    scale_into(item.data, gradient.dense, item.floats, weight);
  }
  item.filled = true;
  --buckets_[item.bucket].missing;
}

void GradientBuckets::use_copy(Item& item) {
  if (item.copy.bytes() == 0) item.copy = AlignedBuffer(item.floats * sizeof(float));
  item.data = static_cast<float*>(item.copy.data());
  buckets_[item.bucket].values = {item.data, item.floats};
}

std::vector<std::span<float>> GradientBuckets::take_complete(bool rest) {
  if (rest) {
    for (Item& item : items_) {
      if (item.filled) continue;
      if (item.in_place) use_copy(item);
      std::fill_n(item.data, item.floats, 0.0F);
    }
  }
  std::vector<std::span<float>> result;
  for (; taken_ < buckets_.size() && (rest || buckets_[taken_].missing == 0); ++taken_) {
    result.push_back(buckets_[taken_].values);
  }
  return result;
}

std::vector<std::span<float>> GradientBuckets::all() const {
  std::vector<std::span<float>> result;
  for (const Bucket& bucket : buckets_) result.push_back(bucket.values);
  return result;
}

std::vector<Piece> GradientBuckets::pieces(int parts, int index) const {
  std::vector<Piece> result;
  for (const Item& item : items_) {
    const std::span<float> bucket = buckets_[item.bucket].values;
    const comm::Part part = comm::part_of(bucket.size(), parts, index);
    const auto item_begin = static_cast<size_t>(item.data - bucket.data());
    const size_t begin = std::max(part.begin, item_begin);
    const size_t end = std::min(part.end, item_begin + item.floats);
    if (begin < end) result.push_back({item.variable, begin - item_begin, bucket.subspan(begin, end - begin)});
  }
  return result;
}

std::vector<GradientView> GradientBuckets::views() const {
  std::vector<GradientView> result;
  for (const Item& item : items_) result.push_back({item.variable, item.data, item.floats, nullptr, nullptr, 0});
  const std::vector<GradientView> sparse = sparse_views();
  result.insert(result.end(), sparse.begin(), sparse.end());
  return result;
}

std::vector<GradientView> GradientBuckets::sparse_views() const {
  std::vector<GradientView> result;
  for (const SparseRows& rows : sparse_) {
    result.push_back(
        {rows.variable, nullptr, 0, rows.indices.data(), rows.rows.data(), static_cast<int64_t>(rows.indices.size())});
  }
  return result;
}

}  // namespace thalweg::sync

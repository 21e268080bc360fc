// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optim/coalesce.h"

#include <array>

#include "thalweg/error.h"

namespace thalweg::optim {

simd::RowList RowCoalescer::coalesce(const std::string& parameter, std::span<const int64_t> rows, int64_t num_rows,
                                     int64_t row_size, std::span<const float> row_gradients) {
  entries_.resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    TW_REQUIRE(rows[i] >= 0 && rows[i] < num_rows, "parameter ", parameter, ": gradient ", i, " is for row ", rows[i],
               ", but the table has ", num_rows, " rows");
    entries_[i] = {rows[i], static_cast<int64_t>(i)};
  }
  sort_by_row(num_rows);
  find_distinct();
  prepare_gradients(row_size, row_gradients);
  return {distinct_.data(), ready_.data(), first_.data(), order_.data(), static_cast<int64_t>(distinct_.size()),
          row_size};
}

/// Radix sort: for a batch of thousands several times faster than a comparison sort, and stable, so
/// that equal rows keep the order in which they came.
void RowCoalescer::sort_by_row(int64_t num_rows) {
  constexpr int kBits = 11;
  constexpr size_t kBuckets = size_t{1} << kBits;
  scratch_.resize(entries_.size());
  for (int shift = 0; shift < 63 && ((num_rows - 1) >> shift) > 0; shift += kBits) {
    std::array<size_t, kBuckets> start{};
    const auto bucket = [shift](const Entry& entry) {
      return static_cast<size_t>(entry.row >> shift) & (kBuckets - 1);
    };
    for (const Entry& entry : entries_) ++start[bucket(entry)];
    size_t total = 0;
    for (size_t& slot : start) {
      const size_t count = slot;
      slot = total;
      total += count;
    }
    for (const Entry& entry : entries_) scratch_[start[bucket(entry)]++] = entry;
    entries_.swap(scratch_);
  }
}

void RowCoalescer::find_distinct() {
  distinct_.clear();
  first_.clear();
  order_.resize(entries_.size());
  for (size_t i = 0; i < entries_.size(); ++i) {
    order_[i] = entries_[i].position;
    if (i == 0 || entries_[i].row != entries_[i - 1].row) {
      distinct_.push_back(entries_[i].row);
      first_.push_back(static_cast<int64_t>(i));
    }
  }
  first_.push_back(static_cast<int64_t>(entries_.size()));
}

/// A row that comes once needs no sum. One that comes so often that a single thread would hold up
/// the others (padding tokens, favourites) is added up here by all threads; the rest is left to the
/// update itself.
void RowCoalescer::prepare_gradients(int64_t row_size, std::span<const float> row_gradients) {
  ready_.assign(distinct_.size(), nullptr);
  std::vector<size_t> frequent;
  for (size_t i = 0; i < distinct_.size(); ++i) {
    const int64_t times = first_[i + 1] - first_[i];
    const int64_t position = order_[static_cast<size_t>(first_[i])];
    if (times == 1) ready_[i] = row_gradients.data() + position * row_size;
    if (times > 1 && times * row_size >= simd::kThreadedElements) frequent.push_back(i);
  }
  sums_.resize(frequent.size() * static_cast<size_t>(row_size));
  for (size_t f = 0; f < frequent.size(); ++f) {
    const size_t i = frequent[f];
    float* sum = sums_.data() + f * static_cast<size_t>(row_size);
    simd::add_up_rows(row_gradients.data(), row_size, order_.data() + first_[i], first_[i + 1] - first_[i], sum);
    ready_[i] = sum;
  }
}

}  // namespace thalweg::optim

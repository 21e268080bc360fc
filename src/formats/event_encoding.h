// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg::formats {

/// CRC-32C (Castagnoli).
uint32_t crc32c(std::string_view bytes);

/// A record of a TFRecord file: length, data, and a checksum of each.
std::string tfrecord(std::string_view data);

/// Counts by buckets whose limits grow by a tenth, from 1e-12, to both sides of zero. Bucket i holds the values below
/// limits[i] that are not below limits[i - 1]; empty buckets at both ends are left out, and neighbours that are empty
/// are one.
struct Histogram {
  double min = 0.0;
  double max = 0.0;
  double count = 0.0;
  double sum = 0.0;
  double sum_squares = 0.0;
  std::vector<double> limits;
  std::vector<double> counts;
};
Histogram make_histogram(std::span<const float> values);

// Events in protobuf encoding. `wall_time` is in seconds since 1970.
std::string version_event(double wall_time);
std::string scalar_event(double wall_time, int64_t step, std::string_view tag, float value);
std::string text_event(double wall_time, int64_t step, std::string_view tag, std::string_view text);
std::string histogram_event(double wall_time, int64_t step, std::string_view tag, const Histogram& histogram);

}  // namespace thalweg::formats

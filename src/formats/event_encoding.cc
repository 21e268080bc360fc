// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/event_encoding.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace thalweg::formats {
namespace {

static_assert(std::endian::native == std::endian::little, "records are little-endian");

constexpr std::array<uint32_t, 256> kCrcTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0U);
    table[i] = crc;
  }
  return table;
}();

template <typename T>
void append_raw(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

uint32_t masked(uint32_t crc) { return std::rotr(crc, 15) + 0xa282ead8U; }

// Protobuf: a field is its number and wire type, then its value.

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void append_key(std::string& out, uint32_t field, WireType type) { append_varint(out, (field << 3) | type); }

void append_integer(std::string& out, uint32_t field, int64_t value) {
  append_key(out, field, kVarint);
  append_varint(out, static_cast<uint64_t>(value));
}

void append_double(std::string& out, uint32_t field, double value) {
  append_key(out, field, kFixed64);
  append_raw(out, value);
}

void append_float(std::string& out, uint32_t field, float value) {
  append_key(out, field, kFixed32);
  append_raw(out, value);
}

void append_bytes(std::string& out, uint32_t field, std::string_view value) {
  append_key(out, field, kBytes);
  append_varint(out, value.size());
  out.append(value);
}

void append_packed(std::string& out, uint32_t field, const std::vector<double>& values) {
  append_key(out, field, kBytes);
  append_varint(out, values.size() * sizeof(double));
  for (const double value : values) append_raw(out, value);
}

/// Event { wall_time = 1; step = 2; summary = 5 { value = 1 { tag = 1; ...content } } }
std::string summary_event(double wall_time, int64_t step, std::string_view tag, std::string_view content) {
  std::string value;
  append_bytes(value, 1, tag);
  value.append(content);
  std::string summary;
  append_bytes(summary, 1, value);
  std::string event;
  append_double(event, 1, wall_time);
  append_integer(event, 2, step);
  append_bytes(event, 5, summary);
  return event;
}

/// All the limits between buckets, ascending.
const std::vector<double>& bucket_limits() {
  static const std::vector<double> limits = [] {
    std::vector<double> positive;
    for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
    std::vector<double> all(positive.rbegin(), positive.rend());
    for (double& limit : all) limit = -limit;
    all.push_back(0.0);
    all.insert(all.end(), positive.begin(), positive.end());
    all.push_back(std::numeric_limits<double>::max());
    return all;
  }();
  return limits;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = 0xffffffffU;
  for (const char byte : bytes) {
    crc = (crc >> 8) ^ kCrcTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  }
  return ~crc;
}

std::string tfrecord(std::string_view data) {
  std::string record;
  append_raw(record, static_cast<uint64_t>(data.size()));
  append_raw(record, masked(crc32c(record)));
  record.append(data);
  append_raw(record, masked(crc32c(data)));
  return record;
}

Histogram make_histogram(std::span<const float> values) {
  const std::vector<double>& limits = bucket_limits();
  std::vector<double> counts(limits.size(), 0.0);
  Histogram result;
  size_t first = limits.size() - 1;
  size_t last = 0;
  for (const float single : values) {
    const double value = single;
    if (!std::isfinite(value)) continue;
    result.min = result.count == 0.0 ? value : std::min(result.min, value);
    result.max = result.count == 0.0 ? value : std::max(result.max, value);
    result.count += 1.0;
    result.sum += value;
    result.sum_squares += value * value;
    const auto bucket = static_cast<size_t>(std::upper_bound(limits.begin(), limits.end(), value) - limits.begin());
    counts[bucket] += 1.0;
    first = std::min(first, bucket);
    last = std::max(last, bucket);
  }
  if (result.count == 0.0) last = first;  // TensorBoard needs at least one bucket
  for (size_t i = first; i <= last; ++i) {
    const bool empty_like_the_next = i < last && counts[i] == 0.0 && counts[i + 1] == 0.0;
    if (empty_like_the_next) continue;
    result.limits.push_back(limits[i]);
    result.counts.push_back(counts[i]);
  }
  return result;
}

std::string version_event(double wall_time) {
  std::string event;
  append_double(event, 1, wall_time);
  append_bytes(event, 3, "brain.Event:2");
  return event;
}

std::string scalar_event(double wall_time, int64_t step, std::string_view tag, float value) {
  std::string content;
  append_float(content, 2, value);
  return summary_event(wall_time, step, tag, content);
}

/// value { tensor = 8 { dtype = 1; shape = 2 { dim = 2 { size = 1 } }; string_val = 8 };
///         metadata = 9 { plugin_data = 1 { plugin_name = 1 }; data_class = 4 } }
std::string text_event(double wall_time, int64_t step, std::string_view tag, std::string_view text) {
  constexpr int64_t kStringType = 7;
  constexpr int64_t kTensorClass = 2;
  std::string dimension;
  append_integer(dimension, 1, 1);
  std::string shape;
  append_bytes(shape, 2, dimension);
  std::string tensor;
  append_integer(tensor, 1, kStringType);
  append_bytes(tensor, 2, shape);
  append_bytes(tensor, 8, text);
  std::string plugin;
  append_bytes(plugin, 1, "text");
  std::string metadata;
  append_bytes(metadata, 1, plugin);
  append_integer(metadata, 4, kTensorClass);
  std::string content;
  append_bytes(content, 8, tensor);
  append_bytes(content, 9, metadata);
  return summary_event(wall_time, step, tag, content);
}

/// value { histo = 5 { min = 1; max = 2; num = 3; sum = 4; sum_squares = 5; bucket_limit = 6; bucket = 7 } }
std::string histogram_event(double wall_time, int64_t step, std::string_view tag, const Histogram& histogram) {
  std::string proto;
  append_double(proto, 1, histogram.min);
  append_double(proto, 2, histogram.max);
  append_double(proto, 3, histogram.count);
  append_double(proto, 4, histogram.sum);
  append_double(proto, 5, histogram.sum_squares);
  append_packed(proto, 6, histogram.limits);
  append_packed(proto, 7, histogram.counts);
  std::string content;
  append_bytes(content, 5, proto);
  return summary_event(wall_time, step, tag, content);
}

}  // namespace thalweg::formats

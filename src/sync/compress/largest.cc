// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/compress/largest.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace thalweg::sync {
namespace {

/// Of fewer elements, all are looked at.
constexpr size_t kFewElements = 20000;
constexpr size_t kSampledOf = 100;

/// The size of the element that is number `count` of the largest, from a sample if there are many.
template <typename SizeOf>
float threshold_of(std::span<const float> values, size_t count, const SizeOf& size_of) {
  const size_t stride = values.size() > kFewElements ? kSampledOf : 1;
  std::vector<float> sizes;
  sizes.reserve(values.size() / stride + 1);
  for (size_t i = 0; i < values.size(); i += stride) {
    const float size = size_of(values[i]);
    // NaN has no place in an order.
    if (size > 0) sizes.push_back(size);
  }
  const size_t rank = std::max<size_t>(count / stride, 1);
  if (rank >= sizes.size()) return 0;
  const auto place = sizes.begin() + static_cast<int64_t>(rank) - 1;
  std::nth_element(sizes.begin(), place, sizes.end(), std::greater<>());
  return *place;
}

template <typename SizeOf>
std::vector<uint32_t> find_largest(std::span<const float> values, size_t count, const SizeOf& size_of) {
  const float threshold = threshold_of(values, count, size_of);
  std::vector<uint32_t> places;
  for (size_t i = 0; i < values.size(); ++i) {
    const float size = size_of(values[i]);
    if (size > 0 && size >= threshold) places.push_back(static_cast<uint32_t>(i));
  }
  if (places.size() <= count) return places;
  // The sample made too little of them, or several are of one size.
  const auto larger = [&](uint32_t a, uint32_t b) {
    const float left = size_of(values[a]), right = size_of(values[b]);
    return left != right ? left > right : a < b;
  };
  std::nth_element(places.begin(), places.begin() + static_cast<int64_t>(count), places.end(), larger);
  places.resize(count);
  std::sort(places.begin(), places.end());
  return places;
}

}  // namespace

std::vector<uint32_t> places_of_largest(std::span<const float> values, size_t count, Largest by) {
  switch (by) {
    case Largest::kByMagnitude: return find_largest(values, count, [](float value) { return std::abs(value); });
    case Largest::kByValue: return find_largest(values, count, [](float value) { return value; });
    case Largest::kByNegatedValue: return find_largest(values, count, [](float value) { return -value; });
  }
  return {};
}

}  // namespace thalweg::sync

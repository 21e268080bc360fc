// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/vision/rle.h"

#include <algorithm>
#include <numeric>

#include "thalweg/error.h"
#include "vision/runs.h"

namespace thalweg::vision {

void require_mask_size(int64_t height, int64_t width) {
  const bool fits = height >= 0 && width >= 0 && height <= kMostMaskSide && width <= kMostMaskSide &&
                    height * width <= kMostMaskPixels;
  TW_REQUIRE(fits, "a mask of ", height, " x ", width, " pixels: at most ", kMostMaskSide, " on a side and ",
             kMostMaskPixels, " in all are allowed");
}

Rle::Rle(int64_t height, int64_t width) : height_(height), width_(width) {
  require_mask_size(height, width);
  if (height * width > 0) counts_ = {static_cast<uint32_t>(height * width)};
}

Rle Rle::from_counts(int64_t height, int64_t width, std::span<const int64_t> counts) {
  Rle result(height, width);
  const int64_t pixels = height * width;
  result.counts_.clear();
  int64_t sum = 0;
  // A run that is empty joins its neighbours, which are of one kind.
  bool joins = false;
  for (size_t i = 0; i < counts.size(); ++i) {
    const int64_t count = counts[i];
    TW_REQUIRE(count >= 0 && count <= pixels - sum, "run ", i, " of a mask of ", height, " x ", width, " pixels has ",
               count, " pixels, and ", pixels - sum, " are left");
    sum += count;
    if (count == 0 && i > 0) {
      joins = !joins;
    } else if (joins && !result.counts_.empty()) {
      result.counts_.back() += static_cast<uint32_t>(count);
      joins = false;
    } else {
      result.counts_.push_back(static_cast<uint32_t>(count));
    }
  }
  TW_REQUIRE(sum == pixels, "the runs of a mask of ", height, " x ", width, " pixels have ", sum, " pixels, not ",
             pixels);
  if (pixels == 0) result.counts_.clear();
  return result;
}

Rle rle_of_runs(int64_t height, int64_t width, std::span<const uint32_t> edges) {
  Rle result(height, width);
  if (height * width == 0) return result;
  result.counts_.clear();
  uint32_t last = 0;
  for (const uint32_t edge : edges) {
    result.counts_.push_back(edge - last);
    last = edge;
  }
  const auto pixels = static_cast<uint32_t>(height * width);
  if (last < pixels) result.counts_.push_back(pixels - last);
  return result;
}

std::vector<uint32_t> Rle::runs_inside() const {
  std::vector<uint32_t> edges;
  edges.reserve(counts_.size() + 1);
  uint32_t at = 0;
  for (const uint32_t count : counts_) edges.push_back(at += count);
  // The last place ends a run outside, which is not asked for, or one inside.
  if (edges.size() % 2 == 1) edges.pop_back();
  return edges;
}

namespace {

template <typename T>
Rle encode(const T* pixels, int64_t height, int64_t width) {
  std::vector<uint32_t> edges;
  bool inside = false;
  for (int64_t x = 0; x < width; ++x) {
    for (int64_t y = 0; y < height; ++y) {
      if ((pixels[y * width + x] != T{}) == inside) continue;
      inside = !inside;
      edges.push_back(static_cast<uint32_t>(x * height + y));
    }
  }
  return rle_of_runs(height, width, edges);
}

}  // namespace

Rle Rle::from_mask(const Tensor& mask) {
  TW_REQUIRE(mask.defined() && mask.shape().rank() == 2, "a mask is [height, width], got ",
             mask.defined() ? mask.type() : TensorType{});
  const int64_t height = mask.shape()[0];
  const int64_t width = mask.shape()[1];
  require_mask_size(height, width);
  if (mask.dtype() == DType::kU8) return encode(mask.data<uint8_t>(), height, width);
  if (mask.dtype() == DType::kBool) return encode(mask.data<bool>(), height, width);
  const Tensor numbers = mask.to(DType::kF64);
  return encode(numbers.data<double>(), height, width);
}

Tensor Rle::mask() const {
  Tensor result = Tensor::zeros(DType::kU8, {height_, width_});
  auto* pixels = result.data<uint8_t>();
  const std::vector<uint32_t> runs = runs_inside();
  for (size_t i = 0; i < runs.size(); i += 2) {
    int64_t x = runs[i] / height_;
    int64_t y = runs[i] % height_;
    for (uint32_t left = runs[i + 1] - runs[i]; left > 0; --left) {
      pixels[y * width_ + x] = 1;
      if (++y < height_) continue;
      y = 0;
      ++x;
    }
  }
  return result;
}

int64_t Rle::area() const {
  int64_t sum = 0;
  for (size_t i = 1; i < counts_.size(); i += 2) sum += counts_[i];
  return sum;
}

Box Rle::bounding_box() const {
  const std::vector<uint32_t> runs = runs_inside();
  if (runs.empty()) return {};
  int64_t top = height_;
  int64_t bottom = 0;
  for (size_t i = 0; i < runs.size(); i += 2) {
    const int64_t first = runs[i];
    const int64_t last = runs[i + 1] - int64_t{1};
    const bool in_one_column = first / height_ == last / height_;
    top = std::min(top, in_one_column ? first % height_ : 0);
    bottom = std::max(bottom, in_one_column ? last % height_ : height_ - 1);
  }
  const int64_t left = runs.front() / height_;
  const int64_t right = (runs.back() - int64_t{1}) / height_;
  return {static_cast<double>(left), static_cast<double>(top), static_cast<double>(right - left + 1),
          static_cast<double>(bottom - top + 1)};
}

}  // namespace thalweg::vision

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "thalweg/vision/annotations.h"

namespace thalweg::vision {

/// The objects and detections of one category in one picture: what is matched with each other.
struct Cell {
  const Picture* picture = nullptr;
  /// In the order they were given in.
  std::span<const Object* const> objects;
  /// The highest score first; of equal ones the one that was given first.
  std::span<const Detection* const> detections;
};

struct CategoryCells {
  int64_t category = 0;
  /// In the order of the pictures' ids; pictures with nothing are left out.
  std::vector<Cell> cells;
};

struct CellOptions {
  /// Of the detections of a cell, so many count.
  size_t most_detections = std::numeric_limits<size_t>::max();
  /// Objects without a mask are left out.
  bool masks_only = false;
};

/// Annotations and detections, which must outlive this, by category and picture.
class Cells {
 public:
  Cells(const Annotations& annotations, const std::vector<Detection>& detections, const CellOptions& options);
  Cells(const Cells&) = delete;
  Cells& operator=(const Cells&) = delete;

  /// In the order of their ids, also those without anything.
  const std::vector<CategoryCells>& categories() const { return categories_; }
  /// Detections of categories that are not listed.
  int64_t unknown_category() const { return unknown_category_; }
  /// Objects that were left out for it.
  int64_t without_mask() const { return without_mask_; }

 private:
  std::vector<const Object*> objects_;
  std::vector<const Detection*> detections_;
  std::vector<CategoryCells> categories_;
  int64_t unknown_category_ = 0;
  int64_t without_mask_ = 0;
};

}  // namespace thalweg::vision

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "vision/cells.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "thalweg/error.h"

namespace thalweg::vision {
namespace {

/// Ids, each once, in order, and the place of each.
class Numbering {
 public:
  template <typename Item>
  explicit Numbering(const std::vector<Item>& items) {
    for (const Item& item : items) ids_.push_back(item.id);
    std::sort(ids_.begin(), ids_.end());
    ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
    for (size_t i = 0; i < ids_.size(); ++i) places_.emplace(ids_[i], static_cast<int64_t>(i));
  }
  const std::vector<int64_t>& ids() const { return ids_; }
  /// -1 if there is none.
  int64_t place(int64_t id) const {
    const auto found = places_.find(id);
    return found == places_.end() ? -1 : found->second;
  }

 private:
  std::vector<int64_t> ids_;
  std::unordered_map<int64_t, int64_t> places_;
};

template <typename Item>
struct Keyed {
  int64_t cell;
  const Item* item;
};

bool is_in_front(const Keyed<Object>& a, const Keyed<Object>& b) { return a.cell < b.cell; }
bool is_in_front(const Keyed<Detection>& a, const Keyed<Detection>& b) {
  return a.cell != b.cell ? a.cell < b.cell : a.item->score > b.item->score;
}

/// A run of items of one cell.
template <typename Item>
struct Run {
  int64_t cell;
  std::span<const Item* const> items;
};

/// The items, sorted, in `order`, and where each cell's are.
template <typename Item>
std::vector<Run<Item>> sort_by_cell(std::vector<Keyed<Item>> keyed, std::vector<const Item*>& order) {
  std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return is_in_front(a, b); });
  order.clear();
  for (const Keyed<Item>& one : keyed) order.push_back(one.item);
  std::vector<Run<Item>> runs;
  for (size_t i = 0; i < keyed.size();) {
    const size_t begin = i;
    while (i < keyed.size() && keyed[i].cell == keyed[begin].cell) ++i;
    runs.push_back({keyed[begin].cell, std::span(order).subspan(begin, i - begin)});
  }
  return runs;
}

/// Which cell an item belongs to: the categories one after the other, each with all pictures.
class CellNumbers {
 public:
  explicit CellNumbers(const Annotations& annotations)
      : pictures(annotations.pictures), categories(annotations.categories) {}

  int64_t picture_count() const { return static_cast<int64_t>(pictures.ids().size()); }
  int64_t count() const { return static_cast<int64_t>(categories.ids().size()) * picture_count(); }
  /// -1 if picture or category are not listed.
  template <typename Item>
  int64_t of(const Item& item) const {
    const int64_t picture = pictures.place(item.picture);
    const int64_t category = categories.place(item.category);
    return picture < 0 || category < 0 ? -1 : category * picture_count() + picture;
  }

  const Numbering pictures, categories;
};

std::vector<Keyed<Object>> listed(const std::vector<Object>& objects, const CellNumbers& numbers, bool masks_only,
                                  int64_t& without_mask) {
  std::vector<Keyed<Object>> result;
  for (const Object& object : objects) {
    const int64_t cell = numbers.of(object);
    if (cell < 0) continue;
    if (masks_only && std::holds_alternative<std::monostate>(object.segmentation)) {
      ++without_mask;
    } else {
      result.push_back({cell, &object});
    }
  }
  return result;
}

std::vector<Keyed<Detection>> listed(const std::vector<Detection>& detections, const CellNumbers& numbers) {
  std::vector<Keyed<Detection>> result;
  for (size_t i = 0; i < detections.size(); ++i) {
    const Detection& detection = detections[i];
    TW_REQUIRE(std::isfinite(detection.score), "detection ", i, " has the score ", detection.score);
    TW_REQUIRE(numbers.pictures.place(detection.picture) >= 0, "detection ", i, " is of picture ", detection.picture,
               ", which the annotations do not have");
    const int64_t cell = numbers.of(detection);
    if (cell >= 0) result.push_back({cell, &detection});
  }
  return result;
}

}  // namespace

Cells::Cells(const Annotations& annotations, const std::vector<Detection>& detections, const CellOptions& options) {
  const CellNumbers numbers(annotations);
  std::vector<Keyed<Detection>> found = listed(detections, numbers);
  unknown_category_ = static_cast<int64_t>(detections.size() - found.size());
  const auto of_objects =
      sort_by_cell(listed(annotations.objects, numbers, options.masks_only, without_mask_), objects_);
  const auto of_detections = sort_by_cell(std::move(found), detections_);
  std::vector<const Picture*> pictures(static_cast<size_t>(numbers.picture_count()));
  for (const Picture& one : annotations.pictures) {
    pictures[static_cast<size_t>(numbers.pictures.place(one.id))] = &one;
  }
  for (const int64_t id : numbers.categories.ids()) categories_.push_back({id, {}});
  for (size_t i = 0, j = 0; i < of_objects.size() || j < of_detections.size();) {
    const int64_t next_object = i < of_objects.size() ? of_objects[i].cell : numbers.count();
    const int64_t next_detection = j < of_detections.size() ? of_detections[j].cell : numbers.count();
    const int64_t cell = std::min(next_object, next_detection);
    Cell both{pictures[static_cast<size_t>(cell % numbers.picture_count())], {}, {}};
    if (next_object == cell) both.objects = of_objects[i++].items;
    if (next_detection == cell) {
      const auto& items = of_detections[j++].items;
      both.detections = items.first(std::min(items.size(), options.most_detections));
    }
    categories_[static_cast<size_t>(cell / numbers.picture_count())].cells.push_back(both);
  }
}

}  // namespace thalweg::vision

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/vision/coco.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "base/threads.h"
#include "thalweg/error.h"
#include "vision/curve.h"
#include "vision/overlaps.h"

namespace thalweg::vision {
namespace {

constexpr size_t kThresholds = 10;
constexpr size_t kAreas = 4;
constexpr size_t kLimits = 3;
/// How many detections of a category in a picture count.
constexpr std::array<size_t, kLimits> kMostDetections = {1, 10, 100};
/// All, small, medium, large: [first, last] in pixels.
constexpr double kLargest = 1e10;
constexpr double kSmall = 32.0 * 32.0;
constexpr double kMedium = 96.0 * 96.0;
constexpr std::array<std::array<double, 2>, kAreas> kAreaRanges = {
    {{0.0, kLargest}, {0.0, kSmall}, {kSmall, kMedium}, {kMedium, kLargest}}};
constexpr size_t kRecallPoints = 101;

/// 0.5, 0.55, ... 0.95, each the double that evenly spaced numbers from the first to the last give.
double threshold(size_t i) {
  constexpr double kFirst = 0.5;
  constexpr double kLast = 0.95;
  constexpr double kStep = (kLast - kFirst) / (kThresholds - 1);
  return i + 1 == kThresholds ? kLast : static_cast<double>(i) * kStep + kFirst;
}

bool is_outside(double area, size_t range) { return area < kAreaRanges[range][0] || area > kAreaRanges[range][1]; }

/// What became of all detections of a category, cell after cell.
struct CategoryOutcomes {
  std::vector<double> scores;
  /// Place among the detections of its cell, from 0.
  std::vector<size_t> ranks;
  std::array<std::array<std::vector<Outcome>, kThresholds>, kAreas> outcomes;
  /// That count.
  std::array<int64_t, kAreas> objects = {};
};

/// Gives the detections of a cell to its objects, for one range of areas.
class Matching {
 public:
  Matching(const Cell& cell, const Overlaps& overlaps, size_t range)
      : cell_(cell), overlaps_(overlaps), range_(range), ignored_(cell.objects.size()) {
    for (size_t g = 0; g < ignored_.size(); ++g) {
      ignored_[g] = cell.objects[g]->crowd || is_outside(cell.objects[g]->area, range);
      if (!ignored_[g]) order_.push_back(g);
    }
    counting_ = order_.size();
    for (size_t g = 0; g < ignored_.size(); ++g) {
      if (ignored_[g]) order_.push_back(g);
    }
  }

  size_t counting_objects() const { return counting_; }

  void match(double least, std::vector<Outcome>& outcomes) {
    taken_.assign(ignored_.size(), false);
    for (size_t d = 0; d < cell_.detections.size(); ++d) outcomes.push_back(match_one(d, least));
  }

 private:
  Outcome match_one(size_t d, double least) {
    constexpr double kAlmostWhole = 1.0 - 1e-10;
    double best = std::min(least, kAlmostWhole);
    size_t chosen = order_.size();
    for (size_t i = 0; i < order_.size(); ++i) {
      const size_t g = order_[i];
      // An object that counts goes before all those that do not.
      if (i == counting_ && chosen < i) break;
      const bool is_free = !taken_[g] || cell_.objects[g]->crowd;
      if (!is_free || overlaps_.at(d, g) < best) continue;
      best = overlaps_.at(d, g);
      chosen = i;
    }
    if (chosen == order_.size()) {
      return is_outside(cell_.detections[d]->area, range_) ? Outcome::kNotCounted : Outcome::kWrong;
    }
    taken_[order_[chosen]] = true;
    return chosen < counting_ ? Outcome::kRight : Outcome::kNotCounted;
  }

  const Cell& cell_;
  const Overlaps& overlaps_;
  const size_t range_;
  std::vector<bool> ignored_;
  /// Objects that count, then the others.
  std::vector<size_t> order_;
  size_t counting_ = 0;
  std::vector<bool> taken_;
};

CategoryOutcomes match_category(const CategoryCells& category, const CocoOptions& options) {
  CategoryOutcomes result;
  for (const Cell& cell : category.cells) {
    const Overlaps overlaps(cell, options.kind, options.dilation_ratio);
    for (size_t d = 0; d < cell.detections.size(); ++d) {
      result.scores.push_back(cell.detections[d]->score);
      result.ranks.push_back(d);
    }
    for (size_t range = 0; range < kAreas; ++range) {
      Matching matching(cell, overlaps, range);
      result.objects[range] += static_cast<int64_t>(matching.counting_objects());
      for (size_t t = 0; t < kThresholds; ++t) matching.match(threshold(t), result.outcomes[range][t]);
    }
  }
  return result;
}

/// Of one category; -1 where it has no objects that count.
struct Measures {
  Measures() {
    for (auto& of_range : precision) of_range.fill(-1.0);
    for (auto& of_range : recall) {
      for (auto& of_limit : of_range) of_limit.fill(-1.0);
    }
  }
  /// The mean over the recalls, with the most detections.
  std::array<std::array<double, kThresholds>, kAreas> precision = {};
  std::array<std::array<std::array<double, kThresholds>, kLimits>, kAreas> recall = {};
};

/// Mean precision at the recalls 0, 0.01, ... 1, and 0 at those that are never reached.
double mean_precision(const Curve& curve) {
  double sum = 0;
  size_t i = 0;
  for (size_t point = 0; point < kRecallPoints; ++point) {
    const double wanted = static_cast<double>(point) * 0.01;
    while (i < curve.recall.size() && curve.recall[i] < wanted) ++i;
    if (i == curve.recall.size()) break;
    sum += curve.precision[i];
  }
  return sum / static_cast<double>(kRecallPoints);
}

Measures measure(const CategoryOutcomes& category) {
  Measures result;
  const std::vector<uint32_t> order = order_by_score(category.scores);
  std::vector<Outcome> outcomes;
  Curve curve;
  for (size_t range = 0; range < kAreas; ++range) {
    if (category.objects[range] == 0) continue;
    for (size_t t = 0; t < kThresholds; ++t) {
      for (size_t limit = 0; limit < kLimits; ++limit) {
        outcomes.clear();
        for (const uint32_t d : order) {
          if (category.ranks[d] < kMostDetections[limit]) outcomes.push_back(category.outcomes[range][t][d]);
        }
        curve.trace(outcomes, category.objects[range], std::numeric_limits<double>::epsilon());
        result.recall[range][limit][t] = curve.recall.empty() ? 0.0 : curve.recall.back();
      }
      curve.raise_to_envelope();
      result.precision[range][t] = mean_precision(curve);
    }
  }
  return result;
}

/// The mean of what is not -1; -1 if nothing is.
class Mean {
 public:
  void add(double value) {
    if (value < 0) return;
    sum_ += value;
    ++count_;
  }
  template <size_t kCount>
  void add(const std::array<double, kCount>& values) {
    for (const double value : values) add(value);
  }
  double value() const { return count_ == 0 ? -1.0 : sum_ / static_cast<double>(count_); }

 private:
  double sum_ = 0;
  int64_t count_ = 0;
};

std::array<double, 12> summarize(const std::vector<Measures>& categories) {
  constexpr size_t kAt75 = 5;
  std::array<Mean, 12> means;
  for (const Measures& one : categories) {
    means[0].add(one.precision[0]);
    means[1].add(one.precision[0][0]);
    means[2].add(one.precision[0][kAt75]);
    for (size_t limit = 0; limit < kLimits; ++limit) means[6 + limit].add(one.recall[0][limit]);
    for (size_t range = 1; range < kAreas; ++range) {
      means[2 + range].add(one.precision[range]);
      means[8 + range].add(one.recall[range][kLimits - 1]);
    }
  }
  std::array<double, 12> values{};
  std::transform(means.begin(), means.end(), values.begin(), [](const Mean& mean) { return mean.value(); });
  return values;
}

}  // namespace

const std::array<const char*, 12>& coco_score_names() {
  static constexpr std::array<const char*, 12> kNames = {"AP",  "AP50", "AP75",  "APs", "APm", "APl",
                                                         "AR1", "AR10", "AR100", "ARs", "ARm", "ARl"};
  return kNames;
}

CocoScores evaluate_coco(const Annotations& annotations, const std::vector<Detection>& detections,
                         const CocoOptions& options) {
  const bool is_share = options.dilation_ratio >= 0.0 && options.dilation_ratio <= 1.0;
  TW_REQUIRE(is_share, "a dilation ratio is in [0, 1], not ", options.dilation_ratio);
  const Cells cells(annotations, detections,
                    {.most_detections = kMostDetections.back(), .masks_only = options.kind != OverlapKind::kBox});
  const std::vector<CategoryCells>& categories = cells.categories();
  std::vector<Measures> measures(categories.size());
  std::atomic<size_t> next{0};
  run_on_threads(options.threads > 0 ? options.threads : available_processors(), [&] {
    for (size_t i = next++; i < categories.size(); i = next++) {
      measures[i] = measure(match_category(categories[i], options));
    }
  });
  CocoScores result;
  result.values = summarize(measures);
  result.unknown_category = cells.unknown_category();
  result.without_mask = cells.without_mask();
  for (size_t i = 0; i < categories.size(); ++i) {
    Mean mean;
    mean.add(measures[i].precision[0]);
    result.categories.push_back({categories[i].category, mean.value(), measures[i].precision[0][0]});
  }
  return result;
}

}  // namespace thalweg::vision

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "thalweg/graph.h"

/// Ops of networks that find objects. Boxes are (left, top, right, bottom).
namespace thalweg::ops {

/// Caffe's PriorBox, whose rules and defaults these are.
struct PriorBoxOptions {
  std::vector<double> min_sizes;
  /// Empty, or one for each of min_sizes: then there is a square between the two as well.
  std::vector<double> max_sizes = {};
  /// Besides 1.
  std::vector<double> aspect_ratios = {};
  /// Each ratio upside down as well.
  bool flip = true;
  /// Boxes are cut to the picture.
  bool clip = false;
  /// One for all coordinates, or four.
  std::vector<double> variances = {0.1};
  /// 0: those of the picture given.
  double image_height = 0, image_width = 0;
  /// From box to box; 0: as many as the map has fill the picture.
  double step_height = 0, step_width = 0;
  /// Where in its step a box has its middle.
  double offset = 0.5;
};
/// Boxes around each place of `features` [N, C, h, w], as shares of `image` [N, C, H, W], row by row, and their
/// variances: [1, 2, 4 * h * w * boxes for each place]. Only the shapes of the inputs count.
Value* prior_box(Value* features, Value* image, const PriorBoxOptions& options, const std::string& name = "");

/// How boxes follow from priors and what a network says; see decode_boxes.
struct DetectionOptions {
  /// With the background.
  int64_t classes = 0;
  /// All classes have the same boxes.
  bool shared_boxes = true;
  /// The class that is none; -1: there is no such class.
  int64_t background = 0;
  /// center_size, corner or corner_size.
  std::string code = "center_size";
  /// What the network says is multiplied by the variances already.
  bool variance_in_target = false;
  double score_threshold = -std::numeric_limits<double>::max();
  /// Boxes of one class that overlap a better one more than this are dropped.
  double overlap_threshold = 0.45;
  /// The threshold is multiplied by it after each box while it is above 0.5.
  double eta = 1.0;
  /// The best boxes of each class that are looked at; -1: all.
  int64_t candidates = -1;
  /// The best boxes of each picture that are kept; -1: all.
  int64_t keep = -1;
};
/// What was found in each picture, by SSD's rules: `places` [N, 4 * P] or, without shared_boxes, [N, 4 * P * classes],
/// `scores` [N, P * classes], `priors` as prior_box gives them: [N, K, 7] of (number of the picture, class, score,
/// left, top, right, bottom), class by class, the best of each first. K is `keep`, or as many as there can be at all;
/// rows that are not needed are full of -1.
Value* detection_output(Value* places, Value* scores, Value* priors, const DetectionOptions& options,
                        const std::string& name = "");

/// What is left of `boxes` [P, 4] when they are said relative to `priors` [P, 4] with center_size: middles by extents
/// and variances, logarithms of extents by variances. `variances`: four numbers. Both broadcast.
Value* encode_boxes(Value* boxes, Value* priors, const std::vector<double>& variances);
/// The boxes that `codes` [..., P, 4] stand for.
Value* decode_boxes(Value* codes, Value* priors, const std::vector<double>& variances);
/// Intersection over union of each of `a` [..., A, 4] with each of `b` [..., B, 4]: [..., A, B]; 0 for boxes without
/// area.
Value* iou_matrix(Value* a, Value* b);

}  // namespace thalweg::ops

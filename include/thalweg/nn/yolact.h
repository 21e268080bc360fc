// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/nn/detection.h"
#include "thalweg/ops/masks.h"

/// YOLACT: objects with their outlines, each a sum of prototypes that all objects of a picture share.
namespace thalweg::nn {

struct YolactOptions {
  /// 50, 101 or 152.
  int64_t depth = 50;
  /// With the background.
  int64_t classes = 81;
  /// A multiple of 2 at least 128: of the square pictures.
  int64_t image_size = 550;
  int64_t prototypes = 32;
  /// Divides the channels: narrow networks for tests.
  int64_t width = 1;
};

struct YolactHeads {
  DetectionHeads boxes;
  Value* coefficients = nullptr;  ///< [N, P, prototypes], from -1 to 1
  Value* prototypes = nullptr;    ///< [N, prototypes, h, w]
  Value* segments = nullptr;      ///< scores of classes without background at each place, for training: [N, C, h', w']
};

/// With the names of the published weights (backbone.*, fpn.*, proto_net.*, prediction_layers.0.*, semantic_seg_conv).
/// Statistics of batch norms are frozen.
class Yolact {
 public:
  explicit Yolact(YolactOptions options = {}) : options_(options) {}
  /// `x` is [N, 3, image_size, image_size].
  YolactHeads forward(const Scope& scope, Value* x) const;

 private:
  YolactOptions options_;
};

struct YolactLossOptions {
  ops::MatchOptions match = {.positive = 0.5, .negative = 0.4, .crowd = 0.7};
  double negatives = 3.0;
  double place_weight = 1.5, class_weight = 1.0, mask_weight = 6.125, segment_weight = 1.0;
  /// The priors of each picture whose masks count.
  int64_t most_masks = 100;
};
struct YolactLoss {
  Value *total, *places, *classes, *masks, *segments;  ///< each with its weight
};
/// `boxes` [N, G, 4], `kinds` i64 [N, G] as of multibox_loss, and ops::kCrowd for regions with many; `masks` f32
/// [N, G, H, W] of 0 and 1, of any size.
YolactLoss yolact_loss(const YolactHeads& heads, Value* boxes, Value* kinds, Value* masks,
                       const YolactLossOptions& options = {});

struct YolactDetections {
  Value* scores;   ///< [N, K], 0 where nothing is left
  Value* classes;  ///< i64 [N, K], from 0 on, without background
  Value* boxes;    ///< [N, K, 4]
  Value* masks;    ///< [N, K, h, w] from 0 to 1, 0 outside of the boxes, as large as the prototypes
};
YolactDetections yolact_detect(const YolactHeads& heads, const ops::FastNmsOptions& options = {});

}  // namespace thalweg::nn

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "thalweg/nn/scope.h"
#include "thalweg/ops/detection.h"
#include "thalweg/ops/matching.h"

/// Networks that find objects, and what they are trained by. Boxes are (left, top, right, bottom) in shares of the
/// picture.
namespace thalweg::nn {

/// What a network with priors says of P of them.
struct DetectionHeads {
  Value* places = nullptr;  ///< codes relative to the priors, [N, P, 4]
  Value* logits = nullptr;  ///< of classes, the first of which is background, [N, P, classes]
  Value* priors = nullptr;  ///< boxes [P, 4], which follow from the size of the picture alone
};

/// SSD300 on VGG16, with the names of PyTorch's published weights (vgg.*, L2Norm, extras.*, loc.*, conf.*): 8732 priors
/// over maps of 38, 19, 10, 5, 3 and 1.
struct Ssd300Options {
  /// With the background.
  int64_t classes = 21;
  /// Divides the channels: narrow networks for tests.
  int64_t width = 1;
};
class Ssd300 {
 public:
  explicit Ssd300(Ssd300Options options = {}) : options_(options) {}
  /// `x` is [N, 3, 300, 300].
  DetectionHeads forward(const Scope& scope, Value* x) const;

 private:
  Ssd300Options options_;
};

/// Input "input" [N, 3, 300, 300], outputs "places", "logits" and "priors": to be trained with multibox_loss.
std::unique_ptr<Graph> ssd300(const Ssd300Options& options = {}, uint64_t seed = 0);

/// Adds what turns heads into objects: softmax, and ops::detection_output with `options`, whose classes are those of
/// the logits. `variances`: of the codes.
Value* detect(const DetectionHeads& heads, ops::DetectionOptions options,
              const std::vector<double>& variances = {0.1, 0.1, 0.2, 0.2});

struct MultiboxOptions {
  ops::MatchOptions match;
  /// Background priors that count, for each that has an object.
  double negatives = 3.0;
  std::vector<double> variances = {0.1, 0.1, 0.2, 0.2};
  double place_weight = 1.0;
};
struct MultiboxLoss {
  Value* total;
  Value* places;   ///< smooth L1, by the number of priors with an object in the batch
  Value* classes;  ///< cross entropy with hard negatives, by the same
  Value* matches;  ///< as ops::match_boxes gives them
};
/// SSD's loss. `boxes` [N, G, 4] and `kinds` i64 [N, G] (classes from 0 on, without background; ops::kAbsent where
/// there is no object).
MultiboxLoss multibox_loss(const DetectionHeads& heads, Value* boxes, Value* kinds,
                           const MultiboxOptions& options = {});

}  // namespace thalweg::nn

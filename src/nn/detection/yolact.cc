// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/nn/yolact.h"

#include <cmath>

#include "nn/detection/yolact_layers.h"
#include "thalweg/nn.h"
#include "thalweg/ops.h"

namespace thalweg::nn {
namespace {

constexpr int64_t kPriorsEach = 3;

/// Squares around each place of a map, one for each of three ratios: the published networks take the width for both.
std::vector<float> square_priors(const Value* map, double scale, int64_t image_size) {
  const int64_t height = map->shape()[2], width = map->shape()[3];
  std::vector<float> boxes;
  for (int64_t row = 0; row < height; ++row) {
    for (int64_t column = 0; column < width; ++column) {
      const double x = (static_cast<double>(column) + 0.5) / static_cast<double>(width);
      const double y = (static_cast<double>(row) + 0.5) / static_cast<double>(height);
      for (const double ratio : {1.0, 0.5, 2.0}) {
        const double half = scale * std::sqrt(ratio) / static_cast<double>(image_size) / 2;
        for (const double edge : {x - half, y - half, x + half, y + half}) boxes.push_back(static_cast<float>(edge));
      }
    }
  }
  return boxes;
}

Value* priors_of(const std::vector<Value*>& pyramid, int64_t image_size) {
  std::vector<float> boxes;
  double scale = 24;
  for (const Value* map : pyramid) {
    const std::vector<float> own = square_priors(map, scale, image_size);
    boxes.insert(boxes.end(), own.begin(), own.end());
    scale *= 2;
  }
  const auto count = static_cast<int64_t>(boxes.size()) / 4;
  return pyramid[0]->graph().constant(Tensor::from<float>({count, 4}, boxes), "priors");
}

/// What one map says of its priors, by layers that all maps share.
struct Said {
  Value *places, *logits, *coefficients;
};

Said head(const Scope& scope, Value* map, int64_t channels, const YolactOptions& options) {
  const Scope shared = scope.reuse();
  const ConvOptions same{.padding = 1};
  Value* y = ops::relu(Conv2d(channels, channels, 3, same).forward(shared.sub("upfeature").sub(0), map));
  const auto say = [&](const char* layer, int64_t numbers) {
    Value* said = Conv2d(channels, kPriorsEach * numbers, 3, same).forward(shared.sub(layer), y);
    return ops::reshape(ops::transpose(said, {0, 2, 3, 1}), {0, -1, numbers});
  };
  Value *places = say("bbox_layer", 4), *logits = say("conf_layer", options.classes);
  return {places, logits, ops::tanh(say("mask_layer", options.prototypes))};
}

Value* prototypes_of(const Scope& scope, Value* map, int64_t channels, int64_t count) {
  const ConvOptions same{.padding = 1};
  Value* y = map;
  // Numbered as in the published files, activations and the enlargement included.
  for (const size_t layer : {0, 2, 4}) y = ops::relu(Conv2d(channels, channels, 3, same).forward(scope.sub(layer), y));
  const std::vector<int64_t> twice{2 * y->shape()[2], 2 * y->shape()[3]};
  y = ops::relu(ops::interpolate(y, twice, "linear", "half_pixel"));
  y = ops::relu(Conv2d(channels, channels, 3, same).forward(scope.sub(8), y));
  return ops::relu(Conv2d(channels, count, 1).forward(scope.sub(10), y));
}

}  // namespace

YolactHeads Yolact::forward(const Scope& scope, Value* x) const {
  const int64_t size = options_.image_size;
  scope.require(x->shape().rank() == 4 && x->shape()[2] == size && x->shape()[3] == size, "Yolact",
                "takes pictures [N, 3, ", size, ", ", size, "], got ", x->shape());
  scope.require(options_.classes > 1 && options_.width > 0 && size >= 128, "Yolact",
                "needs a class besides the background, and pictures of at least 128");
  const int64_t channels = 256 / options_.width;
  const std::vector<Value*> pyramid = feature_pyramid(
      scope.sub("fpn"), resnet_maps(scope.sub("backbone"), x, options_.depth, options_.width), channels);
  YolactHeads heads;
  std::vector<Value*> places, logits, coefficients;
  for (Value* map : pyramid) {
    const Said said = head(scope.sub("prediction_layers").sub(0), map, channels, options_);
    places.push_back(said.places);
    logits.push_back(said.logits);
    coefficients.push_back(said.coefficients);
  }
  heads.boxes = {ops::concat(places, 1), ops::concat(logits, 1), priors_of(pyramid, size)};
  heads.coefficients = ops::concat(coefficients, 1);
  heads.prototypes = prototypes_of(scope.sub("proto_net"), pyramid[0], channels, options_.prototypes);
  heads.segments = Conv2d(channels, options_.classes - 1, 1).forward(scope.sub("semantic_seg_conv"), pyramid[0]);
  return heads;
}

YolactDetections yolact_detect(const YolactHeads& heads, const ops::FastNmsOptions& options) {
  const std::vector<double> variances{0.1, 0.1, 0.2, 0.2};
  const int64_t classes = heads.boxes.logits->shape()[2];
  Value* boxes = ops::decode_boxes(heads.boxes.places, heads.boxes.priors, variances);
  Value* all = ops::transpose(ops::softmax(heads.boxes.logits, 2), {0, 2, 1});
  const ops::FastNms found = ops::fast_nms(boxes, ops::slice(all, {1}, {classes}, {1}), options);
  Value* own = ops::rows_of(boxes, found.boxes);
  Value* masks = ops::assemble_masks(heads.prototypes, ops::rows_of(heads.coefficients, found.boxes));
  return {found.scores, found.classes, own, ops::crop_masks(masks, own)};
}

}  // namespace thalweg::nn

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// SSD's own layers: PriorBox and DetectionOutput.
#include "formats/caffe/layer_context.h"
#include "thalweg/ops/detection.h"

namespace thalweg::caffe {
namespace {

/// One number for both, or height and width apart; 0 if the file says neither.
std::pair<double, double> both_or_each(const LayerContext& context, const Fields& fields, const std::string& both,
                                       const std::string& height, const std::string& width) {
  const bool apart = fields.has(height) || fields.has(width);
  context.require(!apart || !fields.has(both), "has ", both, " and ", height, " or ", width, ": one kind only");
  const double all = fields.real(both, 0.0);
  const std::pair<double, double> result =
      apart ? std::pair(fields.real(height, 0.0), fields.real(width, 0.0)) : std::pair(all, all);
  const bool given = apart || fields.has(both);
  context.require(!given || (result.first > 0 && result.second > 0), both, " must be above 0");
  return result;
}

std::vector<double> positive(const LayerContext& context, const Fields& fields, const std::string& field) {
  std::vector<double> values = fields.reals(field);
  for (const double value : values) context.require(value > 0, field, " must be above 0, and is ", value);
  return values;
}

std::vector<Value*> convert_prior_box(LayerContext& context) {
  context.require_counts(2);
  const Fields& fields = context.fields("prior_box_param");
  ops::PriorBoxOptions options;
  options.min_sizes = positive(context, fields, "min_size");
  options.max_sizes = positive(context, fields, "max_size");
  // Caffe keeps sizes as whole numbers.
  for (auto* sizes : {&options.min_sizes, &options.max_sizes}) {
    for (double& size : *sizes) size = static_cast<double>(static_cast<int64_t>(size));
  }
  options.aspect_ratios = positive(context, fields, "aspect_ratio");
  options.flip = fields.flag("flip", true);
  options.clip = fields.flag("clip", false);
  options.variances = positive(context, fields, "variance");
  if (options.variances.empty()) options.variances = {0.1};
  options.offset = fields.real("offset", 0.5);
  std::tie(options.image_height, options.image_width) = both_or_each(context, fields, "img_size", "img_h", "img_w");
  std::tie(options.step_height, options.step_width) = both_or_each(context, fields, "step", "step_h", "step_w");
  return {ops::prior_box(context.bottom(0), context.bottom(1), options, context.name())};
}

std::vector<Value*> convert_detection_output(LayerContext& context) {
  context.require(context.bottoms().size() == 3, "has ", context.bottoms().size(),
                  " bottoms, and takes 3: places, scores and priors");
  const Fields& fields = context.fields("detection_output_param");
  fields.ignore({"save_output_param", "visualize", "visualize_threshold", "save_file"});
  ops::DetectionOptions options;
  options.classes = fields.integer("num_classes", 0, 0, 1 << 20);
  context.require(options.classes > 0, "needs num_classes");
  options.shared_boxes = fields.flag("share_location", true);
  options.background = fields.integer("background_label_id", 0, -1);
  options.code = fields.choice("code_type", "CORNER", {"CORNER", "CENTER_SIZE", "CORNER_SIZE"}, 1);
  for (char& letter : options.code) letter = letter == '_' ? letter : static_cast<char>(letter + ('a' - 'A'));
  options.variance_in_target = fields.flag("variance_encoded_in_target", false);
  options.keep = fields.integer("keep_top_k", -1, -1);
  if (fields.has("confidence_threshold")) options.score_threshold = fields.real("confidence_threshold", 0.0);
  const Fields& nms = fields.inner("nms_param");
  options.overlap_threshold = nms.real("nms_threshold", 0.3);
  options.candidates = nms.integer("top_k", -1, -1);
  options.eta = nms.real("eta", 1.0);
  return {ops::detection_output(context.bottom(0), context.bottom(1), context.bottom(2), options, context.name())};
}

const RegisterLayers kLayers({
    {"PriorBox", convert_prior_box},
    {"DetectionOutput", convert_detection_output},
});

}  // namespace
}  // namespace thalweg::caffe

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "ops.h"
#include "thalweg/ops/detection.h"
#include "thalweg/ops/masks.h"
#include "thalweg/ops/matching.h"

namespace thalweg::python {
namespace {

using Reals = std::vector<double>;

void bind_prior_box(nb::module_& m) {
  const ops::PriorBoxOptions usual;
  def_op(
      m, "prior_box",
      [](Value* features, Value* image, Reals min_sizes, Reals max_sizes, Reals aspect_ratios, bool flip, bool clip,
         Reals variances, double image_height, double image_width, double step_height, double step_width, double offset,
         const std::string& name) {
        return ops::prior_box(features, image,
                              {std::move(min_sizes), std::move(max_sizes), std::move(aspect_ratios), flip, clip,
                               std::move(variances), image_height, image_width, step_height, step_width, offset},
                              name);
      },
      "features"_a, "image"_a, "min_sizes"_a, nb::kw_only(), "max_sizes"_a = usual.max_sizes,
      "aspect_ratios"_a = usual.aspect_ratios, "flip"_a = usual.flip, "clip"_a = usual.clip,
      "variances"_a = usual.variances, "image_height"_a = usual.image_height, "image_width"_a = usual.image_width,
      "step_height"_a = usual.step_height, "step_width"_a = usual.step_width, "offset"_a = usual.offset, "name"_a = "",
      "Boxes around each place of a map, as shares of the picture, and their variances: [1, 2, 4 * P].");
}

void bind_detection_output(nb::module_& m) {
  const ops::DetectionOptions usual;
  def_op(
      m, "detection_output",
      [](Value* places, Value* scores, Value* priors, int64_t classes, bool shared_boxes, int64_t background,
         const std::string& code, bool variance_in_target, double score_threshold, double overlap_threshold, double eta,
         int64_t candidates, int64_t keep, const std::string& name) {
        return ops::detection_output(places, scores, priors,
                                     {classes, shared_boxes, background, code, variance_in_target, score_threshold,
                                      overlap_threshold, eta, candidates, keep},
                                     name);
      },
      "places"_a, "scores"_a, "priors"_a, "classes"_a, nb::kw_only(), "shared_boxes"_a = usual.shared_boxes,
      "background"_a = usual.background, "code"_a = usual.code, "variance_in_target"_a = usual.variance_in_target,
      "score_threshold"_a = usual.score_threshold, "overlap_threshold"_a = usual.overlap_threshold, "eta"_a = usual.eta,
      "candidates"_a = usual.candidates, "keep"_a = usual.keep, "name"_a = "",
      "Objects [N, K, 7]: picture, class, score, left, top, right, bottom; -1 in rows that are not needed.");
}

void bind_matching(nb::module_& m) {
  const ops::MatchOptions usual;
  def_op(
      m, "match_boxes",
      [](Value* priors, Value* boxes, Value* kinds, double positive, double negative, double crowd,
         const std::string& name) {
        return ops::match_boxes(priors, boxes, kinds, {positive, negative, crowd}, name);
      },
      "priors"_a, "boxes"_a, "kinds"_a, nb::kw_only(), "positive"_a = usual.positive, "negative"_a = usual.negative,
      "crowd"_a = usual.crowd, "name"_a = "",
      "The number of each prior's object, -1 for background, -2 for none of both. Kinds: -1 absent, -2 a crowd.");
  def_op(m, "hard_negatives", ops::hard_negatives, "losses"_a, "matches"_a, "ratio"_a, "name"_a = "");
}

void bind_masks(nb::module_& m) {
  const ops::FastNmsOptions usual;
  def_op(
      m, "fast_nms",
      [](Value* boxes, Value* scores, double score_threshold, double overlap_threshold, int64_t candidates,
         int64_t keep) {
        const ops::FastNms found = ops::fast_nms(boxes, scores, {score_threshold, overlap_threshold, candidates, keep});
        return std::tuple(found.scores, found.classes, found.boxes);
      },
      "boxes"_a, "scores"_a, nb::kw_only(), "score_threshold"_a = usual.score_threshold,
      "overlap_threshold"_a = usual.overlap_threshold, "candidates"_a = usual.candidates, "keep"_a = usual.keep,
      "Scores, classes and numbers of boxes [N, K], the best of each picture first.");
  def_op(m, "rows_of", ops::rows_of, "x"_a, "numbers"_a);
  def_op(m, "assemble_masks", ops::assemble_masks, "prototypes"_a, "coefficients"_a);
  def_op(m, "crop_masks", ops::crop_masks, "masks"_a, "boxes"_a, "padding"_a);
}

}  // namespace

void bind_detection_ops(nb::module_& ops_module) {
  bind_prior_box(ops_module);
  bind_detection_output(ops_module);
  bind_matching(ops_module);
  bind_masks(ops_module);
  def_op(ops_module, "encode_boxes", ops::encode_boxes, "boxes"_a, "priors"_a, "variances"_a);
  def_op(ops_module, "decode_boxes", ops::decode_boxes, "codes"_a, "priors"_a, "variances"_a);
  def_op(ops_module, "iou_matrix", ops::iou_matrix, "a"_a, "b"_a);
}

}  // namespace thalweg::python

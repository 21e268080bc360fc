// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// detection_output(places [N, 4 * P * B], scores [N, P * C], priors [1, 2, 4 * P]) -> [N, K, 7]; B is 1, or C where
// each class has boxes of its own.
#include <limits>

#include "graph/op_registry.h"
#include "ops/detection_rules.h"
#include "ops/ids_rare.h"
#include "tensor/dtype.h"
#include "thalweg/ops/detection.h"

namespace thalweg {

DetectionRules::DetectionRules(const Node& node) {
  const Attributes& attrs = node.attrs();
  classes = attrs.integer("classes");
  background = attrs.integer("background");
  box_classes = attrs.flag("shared_boxes") ? 1 : classes;
  priors = node.input(2)->shape()[2] / 4;
  candidates = attrs.integer("candidates") < 0 ? priors : std::min(attrs.integer("candidates"), priors);
  keep = node.output()->shape()[1];
  const std::string said = attrs.text("code");
  code = said == "corner" ? BoxCode::kCorner : said == "corner_size" ? BoxCode::kCornerSize : BoxCode::kCenterSize;
  variance_in_target = attrs.flag("variance_in_target");
  score_threshold = attrs.real("score_threshold");
  overlap_threshold = attrs.real("overlap_threshold");
  eta = attrs.real("eta");
}

namespace {

void require_extent(const InferContext& context, size_t input, int64_t extent, const char* what) {
  const int64_t have = context.shape(input)[1];
  context.require(have == kFree || extent == kFree || have == extent, what, " have ", have,
                  " numbers a picture, and the "
                  "priors ask for ",
                  extent);
}

std::vector<TensorType> infer(const InferContext& context) {
  const Attributes& attrs = context.attrs();
  for (size_t i = 0; i < 3; ++i) {
    context.require_floating(i);
    context.require(context.dtype(i) == context.dtype(0), "the inputs must have one element type");
    context.require_rank(i, i < 2 ? 2 : 3);
  }
  const Shape& priors = context.shape(2);
  context.require((priors[0] == 1 || priors[0] == kFree) && (priors[1] == 2 || priors[1] == kFree),
                  "priors must be [1, 2, 4 * P]");
  context.require(priors[2] == kFree || priors[2] % 4 == 0, "priors must be [1, 2, 4 * P]");
  const int64_t count = priors[2] == kFree ? kFree : priors[2] / 4, classes = attrs.integer("classes");
  const int64_t boxes = attrs.flag("shared_boxes") ? 1 : classes;
  require_extent(context, 0, count == kFree ? kFree : count * 4 * boxes, "places");
  require_extent(context, 1, count == kFree ? kFree : count * classes, "scores");
  const int64_t background = attrs.integer("background"), keep = attrs.integer("keep");
  context.require(background < classes, "class ", background, " of ", classes, " cannot be the background");
  context.require(keep != 0 && attrs.integer("candidates") != 0, "keep and candidates must be -1 or above 0");
  if (count == kFree) return {{context.dtype(0), {context.shape(0)[0], kFree, 7}}};
  const int64_t candidates = attrs.integer("candidates") < 0 ? count : std::min(attrs.integer("candidates"), count);
  const int64_t most = candidates * (background < 0 ? classes : classes - 1);
  return {{context.dtype(0), {context.shape(0)[0], keep < 0 ? most : std::min(keep, most), 7}}};
}

/// All of one picture, step by step.
template <typename T>
std::vector<Detection<T>> detect(const DetectionRules& rules, const T* scores,
                                 const std::vector<DetectedBox<T>>& boxes) {
  std::vector<Detection<T>> found;
  for (int64_t c = 0; c < rules.classes; ++c) {
    if (c == rules.background) continue;
    const auto score = [&](int64_t prior) { return scores[prior * rules.classes + c]; };
    std::vector<int64_t> order;
    for (int64_t p = 0; p < rules.priors; ++p) {
      if (score(p) > static_cast<T>(rules.score_threshold)) order.push_back(p);
    }
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return score(a) > score(b); });
    if (static_cast<int64_t>(order.size()) > rules.candidates) order.resize(static_cast<size_t>(rules.candidates));
    const auto box_of = [&](int64_t prior) {
      return boxes[static_cast<size_t>(prior * rules.box_classes + (rules.box_classes == 1 ? 0 : c))];
    };
    for (const int64_t prior : suppress<T>(rules, order, box_of)) found.push_back({c, prior, score(prior)});
  }
  keep_best_detections(found, rules.keep);
  return found;
}

void reference(const ReferenceCall& call) {
  const DetectionRules rules(call.node);
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T *priors = call.in(2).data<T>(), *variances = priors + rules.priors * 4;
    for (int64_t n = 0; n < call.out().shape()[0]; ++n) {
      const T* places = call.in(0).data<T>() + n * rules.priors * 4 * rules.box_classes;
      std::vector<DetectedBox<T>> boxes;
      for (int64_t i = 0; i < rules.priors * rules.box_classes; ++i) {
        const int64_t prior = i / rules.box_classes * 4;
        boxes.push_back(decode_box(rules, places + i * 4, priors + prior, variances + prior));
      }
      const auto found = detect(rules, call.in(1).data<T>() + n * rules.priors * rules.classes, boxes);
      const auto box_of = [&](const Detection<T>& detection) {
        const int64_t own = rules.box_classes == 1 ? 0 : detection.label;
        return boxes[static_cast<size_t>(detection.prior * rules.box_classes + own)];
      };
      write_detections(found, n, rules.keep, box_of, call.out().data<T>() + n * rules.keep * 7);
    }
  });
}

const std::vector<AttributeDef> kAttributes{
    attr::integer("classes", 0, "with the background").at_least(1).needed(),
    attr::flag("shared_boxes", "all classes have the same boxes", true),
    attr::integer("background", 0, "the class that is none; -1: there is no such class").at_least(-1),
    attr::text("code", "center_size", "how boxes are said").one_of({"center_size", "corner", "corner_size"}),
    attr::flag("variance_in_target", "places are multiplied by the variances already"),
    attr::real("score_threshold", -std::numeric_limits<double>::infinity(), "what a score must exceed"),
    attr::real("overlap_threshold", 0.45, "boxes of a class that overlap a better one more are dropped").at_least(0.0),
    attr::real("eta", 1.0, "a factor of that threshold after each box, while it is above 0.5").between(1e-6, 1.0),
    attr::integer("candidates", -1, "the best of each class that are looked at; -1: all").at_least(-1),
    attr::integer("keep", -1, "the best of each picture that are kept; -1: all").at_least(-1)};

const RegisterOp kDetectionOutput(op::kDetectionOutput, 3,
                                  "Objects by SSD's rules: number of the picture, class, score, box; -1 in rows that "
                                  "are not needed.",
                                  infer, nullptr, kAttributes,
                                  {.zero_gradient = true, .reference = reference, .data_inputs = 0});

}  // namespace

namespace ops {

Value* detection_output(Value* places, Value* scores, Value* priors, const DetectionOptions& options,
                        const std::string& name) {
  constexpr double kLowest = std::numeric_limits<float>::lowest();
  const Attributes attrs{{"classes", options.classes},
                         {"shared_boxes", int64_t{options.shared_boxes}},
                         {"background", options.background},
                         {"code", options.code},
                         {"variance_in_target", int64_t{options.variance_in_target}},
                         // What every number of f32 exceeds, but the lowest.
                         {"score_threshold", std::max(options.score_threshold, kLowest)},
                         {"overlap_threshold", options.overlap_threshold},
                         {"eta", options.eta},
                         {"candidates", options.candidates},
                         {"keep", options.keep}};
  return places->graph().add(op::kDetectionOutput, {places, scores, priors}, attrs, name)->output();
}

}  // namespace ops
}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// prior_box, which is a constant, and detection_output by standard operators.
#include <algorithm>
#include <limits>

#include "formats/onnx/exporter.h"
#include "ops/ids_rare.h"
#include "ops/prior_boxes.h"

namespace thalweg::onnx {
namespace {

void write_prior_box(Exporter& exporter, const Node& node) {
  const Tensor boxes = prior_boxes(node);
  TW_REQUIRE(boxes.defined(), "boxes follow from the size of the picture, which is not known");
  exporter.emit(node.output(), "Identity", {exporter.constant(boxes.to(node.output()->dtype()), "priors")});
}

/// Rows of all pictures have one number, whatever was found in them, and so has each step: what does not count has the
/// score `kNothing`.
class DetectionWriter {
 public:
  DetectionWriter(Exporter& exporter, const Node& node) : out_(exporter), node_(node), attrs_(node.attrs()) {
    TW_REQUIRE(attrs_.flag("shared_boxes"), "standard operators suppress only boxes that all classes share");
    TW_REQUIRE(attrs_.real("eta") == 1.0, "standard operators suppress boxes by one threshold only");
    TW_REQUIRE(node.output()->dtype() == DType::kF32, "detections in ", name_of(node.output()->dtype()));
    TW_REQUIRE(node.input(2)->shape()[2] != kFree, "the number of priors is not known");
    priors_ = node.input(2)->shape()[2] / 4;
    keep_ = node.output()->shape()[1];
    for (int64_t c = 0; c < attrs_.integer("classes"); ++c) {
      if (c != attrs_.integer("background")) classes_.push_back(c);
    }
  }

  void run() {
    const std::string boxes = decoded(), scores = suppressed(boxes, class_scores());
    const std::string flat = out_.emit("Reshape", {scores, out_.integers({0, -1})});
    const std::vector<std::string> best = top(flat, keep_, true, 1);
    const auto count = static_cast<int64_t>(classes_.size());
    const std::string valid = out_.emit("Greater", {best[0], real(kNothing)});
    const std::string label = out_.emit("Div", {best[1], integer(priors_)});
    const std::string key = as_real(out_.emit("Where", {valid, label, integer(count)}));
    // Class by class, and within a class as they are: the best first.
    const std::string order = top(key, keep_, false, 1)[1];
    const auto ordered = [&](const std::string& x) {
      return column(out_.emit("GatherElements", {x, order}, {axis(1)}));
    };
    const std::string prior = ordered(out_.emit("Mod", {best[1], integer(priors_)}));
    const std::string found = out_.emit("GatherND", {boxes, prior}, {integer_attribute("batch_dims", 1)});
    const std::string numbers = out_.constant(Tensor::from<int64_t>({count}, classes_), "classes");
    const std::string classes = as_real(out_.emit("Gather", {numbers, ordered(label)}));
    const std::string rows = out_.emit("Concat", {pictures(classes), classes, ordered(best[0]), found}, {axis(2)});
    out_.emit(node_.output(), "Where", {ordered(valid), rows, real(-1.0F)});
  }

 private:
  static constexpr float kNothing = std::numeric_limits<float>::lowest();

  static AttributeProto axis(int64_t value) { return integer_attribute("axis", value); }
  std::string real(float value) { return out_.constant(Tensor::scalar<float>(value), "number"); }
  std::string integer(int64_t value) { return out_.constant(Tensor::scalar<int64_t>(value), "number"); }
  std::string as_real(const std::string& x) {
    return out_.emit("Cast", {x}, {integer_attribute("to", static_cast<int64_t>(DataType::kFloat))});
  }
  /// [N, K] as [N, K, 1].
  std::string column(const std::string& x) { return out_.emit("Unsqueeze", {x, out_.integers({2})}); }
  std::vector<std::string> top(const std::string& x, int64_t count, bool largest, int64_t along) {
    return out_.emit_many("TopK", {x, out_.integers({count})}, 2,
                          {axis(along), integer_attribute("largest", largest ? 1 : 0)});
  }
  std::vector<std::string> halves(const std::string& x) {
    return out_.emit_many("Split", {x, out_.integers({2, 2})}, 2, {axis(-1)});
  }

  /// [N, P, 4] from what the network says.
  std::string decoded() {
    const std::string said = out_.emit("Reshape", {out_.name(node_.input(0)), out_.integers({0, -1, 4})});
    const std::string both = out_.emit("Reshape", {out_.name(node_.input(2)), out_.integers({2, -1, 4})});
    const std::vector<std::string> parts = out_.emit_many("Split", {both, out_.integers({1, 1})}, 2, {axis(0)});
    const std::string codes = attrs_.flag("variance_in_target") ? said : out_.emit("Mul", {said, parts[1]});
    const std::vector<std::string> corners = halves(parts[0]);
    const std::string extent = out_.emit("Sub", {corners[1], corners[0]});
    if (attrs_.text("code") == "corner") return out_.emit("Add", {parts[0], codes});
    if (attrs_.text("code") == "corner_size") {
      const std::string extents = out_.emit("Concat", {extent, extent}, {axis(-1)});
      return out_.emit("Add", {parts[0], out_.emit("Mul", {codes, extents})});
    }
    const std::vector<std::string> code = halves(codes);
    const std::string middle = out_.emit("Mul", {out_.emit("Add", {corners[0], corners[1]}), real(0.5F)});
    const std::string centre = out_.emit("Add", {out_.emit("Mul", {code[0], extent}), middle});
    const std::string size = out_.emit("Mul", {out_.emit("Exp", {code[1]}), extent});
    const std::string half = out_.emit("Mul", {size, real(0.5F)});
    return out_.emit("Concat", {out_.emit("Sub", {centre, half}), out_.emit("Add", {centre, half})}, {axis(-1)});
  }

  /// [N, classes without the background, P], of which those that are no candidates are nothing.
  std::string class_scores() {
    const std::string by_prior =
        out_.emit("Reshape", {out_.name(node_.input(1)), out_.integers({0, -1, attrs_.integer("classes")})});
    const std::string by_class = out_.emit("Transpose", {by_prior}, {integers_attribute("perm", {0, 2, 1})});
    const std::string scores = out_.emit("Gather", {by_class, out_.integers(classes_)}, {axis(1)});
    const int64_t candidates = attrs_.integer("candidates");
    if (candidates < 0 || candidates >= priors_) return scores;
    const std::vector<std::string> best = top(scores, candidates, true, 2);
    return out_.emit("ScatterElements", {nothing_like(scores), best[1], best[0]}, {axis(2)});
  }

  std::string nothing_like(const std::string& x) {
    return out_.emit("Expand", {real(kNothing), out_.emit("Shape", {x})});
  }

  /// The scores, of which those that are suppressed are nothing.
  std::string suppressed(const std::string& boxes, const std::string& scores) {
    const float threshold = std::max(static_cast<float>(attrs_.real("score_threshold")), kNothing);
    const std::string kept = out_.emit(
        "NonMaxSuppression",
        {boxes, scores, integer(priors_), real(static_cast<float>(attrs_.real("overlap_threshold"))), real(threshold)});
    return out_.emit("ScatterND", {nothing_like(scores), kept, out_.emit("GatherND", {scores, kept})});
  }

  /// The number of each row's picture: `like` is [N, K, 1].
  std::string pictures(const std::string& like) {
    const std::string shape = out_.emit("Shape", {like});
    const std::string count = out_.emit("Gather", {shape, integer(0)});
    const std::string numbers = as_real(out_.emit("Range", {integer(0), count, integer(1)}));
    return out_.emit("Expand", {out_.emit("Reshape", {numbers, out_.integers({-1, 1, 1})}), shape});
  }

  Exporter& out_;
  const Node& node_;
  const Attributes& attrs_;
  int64_t priors_ = 0, keep_ = 0;
  std::vector<int64_t> classes_;
};

void write_detection_output(Exporter& exporter, const Node& node) { DetectionWriter(exporter, node).run(); }

const RegisterWriters kWriters({
    {op::kPriorBox, write_prior_box},
    {op::kDetectionOutput, write_detection_output},
});

}  // namespace
}  // namespace thalweg::onnx

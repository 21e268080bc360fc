// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// detection_output, where few of the many scores are above the threshold: only the boxes of those are computed.
#include "ops/detection_rules.h"
#include "ops/ids_rare.h"
#include "runtime/kernels/native/plain_kernel.h"

namespace thalweg {
namespace {

struct Candidate {
  int64_t prior;
  float score;
};

struct Inputs {
  const float *places, *scores, *priors;
};

class Detector {
 public:
  Detector(const DetectionRules& rules, const Inputs& inputs) : rules_(rules), in_(inputs) {}

  DetectedBox<float> box(int64_t picture, int64_t prior, int64_t label) const {
    const int64_t own = rules_.box_classes == 1 ? 0 : label;
    const int64_t place = (picture * rules_.priors + prior) * rules_.box_classes + own;
    return decode_box(rules_, in_.places + place * 4, in_.priors + prior * 4, in_.priors + (rules_.priors + prior) * 4);
  }

  /// What is above the threshold, class by class, in one pass over the scores.
  std::vector<std::vector<Candidate>> candidates(int64_t picture) const {
    std::vector<std::vector<Candidate>> found(static_cast<size_t>(rules_.classes));
    const auto threshold = static_cast<float>(rules_.score_threshold);
    const float* score = in_.scores + picture * rules_.priors * rules_.classes;
    for (int64_t p = 0; p < rules_.priors; ++p) {
      for (int64_t c = 0; c < rules_.classes; ++c, ++score) {
        if (*score > threshold && c != rules_.background) found[static_cast<size_t>(c)].push_back({p, *score});
      }
    }
    return found;
  }

  void keep(int64_t picture, int64_t label, std::vector<Candidate>& candidates,
            std::vector<Detection<float>>& found) const {
    // Candidates come in the order of the priors, which decides among equals.
    const auto better = [](const Candidate& a, const Candidate& b) {
      return a.score != b.score ? a.score > b.score : a.prior < b.prior;
    };
    const auto count = std::min(candidates.size(), static_cast<size_t>(rules_.candidates));
    std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(count), candidates.end(),
                      better);
    std::vector<int64_t> order(count);
    for (size_t i = 0; i < count; ++i) order[i] = static_cast<int64_t>(i);
    const auto box_of = [&](int64_t i) { return box(picture, candidates[static_cast<size_t>(i)].prior, label); };
    for (const int64_t i : suppress<float>(rules_, order, box_of)) {
      const Candidate& kept = candidates[static_cast<size_t>(i)];
      found.push_back({label, kept.prior, kept.score});
    }
  }

  void run(int64_t picture, float* out) const {
    std::vector<std::vector<Candidate>> candidates = this->candidates(picture);
    std::vector<Detection<float>> found;
    for (int64_t c = 0; c < rules_.classes; ++c) keep(picture, c, candidates[static_cast<size_t>(c)], found);
    keep_best_detections(found, rules_.keep);
    const auto box_of = [&](const Detection<float>& d) { return box(picture, d.prior, d.label); };
    write_detections(found, picture, rules_.keep, box_of, out);
  }

 private:
  const DetectionRules& rules_;
  Inputs in_;
};

class DetectionKernel : public Kernel {
 public:
  explicit DetectionKernel(const Node& node) : rules_(node), pictures_(node.output()->shape()[0]) {
    name = "native detection_output";
    inputs = plain_inputs(node);
    outputs = plain_outputs(node);
  }

  void run(const KernelArguments& arguments) const override {
    const Detector detector(
        rules_, {static_cast<const float*>(arguments.inputs[0]), static_cast<const float*>(arguments.inputs[1]),
                 static_cast<const float*>(arguments.inputs[2])});
    auto* out = static_cast<float*>(arguments.outputs[0]);
#pragma omp parallel for schedule(static) num_threads(arguments.threads)
    for (int64_t n = 0; n < pictures_; ++n) detector.run(n, out + n * rules_.keep * 7);
  }

 private:
  DetectionRules rules_;
  int64_t pictures_;
};

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (node.output()->dtype() != DType::kF32) declined = std::string("element type ") + name_of(node.output()->dtype());
  if (has_empty_operand(node)) declined = "an operand is empty";
  if (!declined.empty()) return nullptr;
  return std::make_unique<DetectionKernel>(node);
}

const RegisterKernel kDetectionOutput(op::kDetectionOutput, "native", KernelPriority::kNative, make);

}  // namespace
}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "cli/model_options.h"
#include "cli/progress.h"
#include "cli/samples.h"
#include "cli/text_table.h"
#include "model/output_comparison.h"
#include "thalweg/masks.h"

namespace thalweg::cli {
namespace {

/// Which output of the second model stands against each of the first: that of the same name or, if the names are
/// others, in the same place.
std::vector<size_t> match_outputs(const Model& a, const Model& b) {
  if (a.outputs().size() != b.outputs().size()) {
    wrong_usage("the models have ", a.outputs().size(), " and ", b.outputs().size(), " outputs");
  }
  std::vector<size_t> matches;
  for (const ValueDescription& output : a.outputs()) {
    const auto found = std::find_if(b.outputs().begin(), b.outputs().end(),
                                    [&](const ValueDescription& other) { return other.name == output.name; });
    const bool everywhere = found != b.outputs().end();
    matches.push_back(everywhere ? static_cast<size_t>(found - b.outputs().begin()) : b.outputs().size());
  }
  if (std::find(matches.begin(), matches.end(), b.outputs().size()) == matches.end()) return matches;
  for (size_t i = 0; i < matches.size(); ++i) matches[i] = i;
  return matches;
}

Json json_of(const OutputComparison& output, const std::string& name) {
  Json result = {{"name", name},
                 {"elements", output.elements()},
                 {"max_absolute", output.max_absolute()},
                 {"mean_absolute", output.mean_absolute()},
                 {"max_relative", output.max_relative()},
                 {"mean_relative", output.mean_relative()},
                 {"max_of_range", output.max_of_range()},
                 {"cosine", output.cosine()},
                 {"not_finite", output.not_finite()}};
  if (output.rows() > 0) {
    result["top1_agreement"] = static_cast<double>(output.same_top_rows()) / static_cast<double>(output.rows());
  }
  return result;
}

std::string text_of(const Json& report) {
  std::ostringstream out;
  out << report["model_a"].get<std::string>() << " and " << report["model_b"].get<std::string>() << " on "
      << report["samples"] << " samples of " << report["data"].get<std::string>() << '\n';
  TextTable table(
      {"output", "max abs", "mean abs", "max rel", "mean rel", "of range", "cosine", "top-1", "not finite"});
  for (const Json& output : report["outputs"]) {
    table.add_row(
        {output["name"], format("%.3g", output["max_absolute"]), format("%.3g", output["mean_absolute"]),
         format("%.3g", output["max_relative"]), format("%.3g", output["mean_relative"]),
         format("%.3g", output["max_of_range"]), format("%.7f", output["cosine"]),
         output.contains("top1_agreement") ? format("%.2f%%", 100 * output["top1_agreement"].get<double>()) : "-",
         output["not_finite"].dump()});
  }
  out << table.to_string();
  if (report.contains("masks")) {
    const Json& masks = report["masks"];
    out << "masks of " << masks["output"].get<std::string>() << ", " << masks["pairs"] << " pairs: IoU "
        << format("%.4f", masks["iou"]) << '\n';
    TextTable boundaries({"ratio", "boundary IoU"});
    for (const Json& one : masks["boundary_iou"]) {
      boundaries.add_row({format("%g", one["ratio"]), format("%.4f", one["iou"])});
    }
    out << boundaries.to_string(2);
  }
  return out.str();
}

class Compare : public Command {
 public:
  CommandDescription describe() const override {
    return {"compare", "How much the answers of two models differ on the same data",
            "thalweg compare model.onnx model_int8.onnx photos/ --resize 256 --crop 224"};
  }

  void add_options(CLI::App& options) override {
    options.add_option("MODEL_A", a_.path, "ONNX file, the reference")->required();
    options.add_option("MODEL_B", b_.path, "ONNX file with the same inputs and outputs")->required();
    samples_.add_to(options);
    options.add_option("--threads", a_.threads, "Compute threads (default: what the machine allows)")
        ->check(CLI::Range(1, 1024));
    options.add_flag("--masks", masks_, "Compare a segmentation too: IoU and boundary IoU (Cheng et al., 2021)");
    options.add_option("--mask-output", mask_output_, "The output that holds it (default: the first)");
    options.add_option("--mask-threshold", threshold_, "Above it a pixel is object, where there are no classes")
        ->capture_default_str();
    options.add_option("--dilation-ratios", ratios_, "Widths of boundaries as shares of the image's diagonal")
        ->delimiter(',')
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    options
        .add_option("--max-difference", max_difference_,
                    "Fail if an output differs by more, as a share of its largest element")
        ->check(CLI::NonNegativeNumber);
  }

  int run() override {
    b_.threads = a_.threads;
    const Model a = a_.load();
    const Model b = b_.load();
    const size_t mask_index = masks_ ? find_mask_output(a) : 0;
    const Samples samples = open_samples(samples_, a);
    std::vector<OutputComparison> outputs(a.outputs().size());
    metrics::SegmentationOverlap overlap(ratios_);
    run_both(a, b, samples, outputs,
             [&](const Tensor& from_a, const Tensor& from_b) { overlap.add(from_a, from_b, threshold_); });
    Json report = {
        {"model_a", a_.path}, {"model_b", b_.path}, {"data", samples_.path}, {"samples", samples.dataset->size()}};
    report["outputs"] = Json::array();
    for (size_t i = 0; i < outputs.size(); ++i) report["outputs"].push_back(json_of(outputs[i], a.outputs()[i].name));
    if (masks_) report["masks"] = masks_json(overlap, a.outputs()[mask_index].name);
    print(report, text_of);
    return check(outputs, a);
  }

 private:
  /// `add_masks` gets the outputs of each sample that --masks is about.
  void run_both(const Model& a, const Model& b, const Samples& samples, std::vector<OutputComparison>& outputs,
                const std::function<void(const Tensor&, const Tensor&)>& add_masks) const {
    const std::vector<size_t> matches = match_outputs(a, b);
    const size_t mask_index = masks_ ? find_mask_output(a) : 0;
    Progress progress(shows_progress(), "samples");
    for_each_batch(samples, {&a, &b}, samples_, [&](const SampleBatch& batch) {
      const std::vector<Tensor> from_a = a.predict(batch.inputs);
      const std::vector<Tensor> unordered = b.predict(batch.inputs);
      std::vector<Tensor> from_b;
      for (const size_t match : matches) from_b.push_back(unordered[match]);
      for (size_t i = 0; i < outputs.size(); ++i) add(outputs[i], from_a[i], from_b[i], batch);
      for (int64_t row = 0; masks_ && row < batch.rows; ++row) {
        add_masks(outputs_of_sample(from_a, a.outputs(), batch, row)[mask_index],
                  outputs_of_sample(from_b, a.outputs(), batch, row)[mask_index]);
      }
      progress.update(static_cast<double>(batch.first + batch.rows), static_cast<double>(samples.dataset->size()));
    });
  }

  size_t find_mask_output(const Model& model) const {
    if (mask_output_.empty()) return 0;
    for (size_t i = 0; i < model.outputs().size(); ++i) {
      if (model.outputs()[i].name == mask_output_) return i;
    }
    wrong_usage("--mask-output ", printable(mask_output_), ": the model has no such output");
  }

  /// Rows that only fill the batch up do not count.
  static void add(OutputComparison& comparison, const Tensor& a, const Tensor& b, const SampleBatch& batch) {
    const bool has_filling = batch.inputs[0].shape()[0] > batch.rows;
    const bool by_rows = has_filling && a.shape().rank() > 0 && a.shape()[0] == batch.inputs[0].shape()[0] &&
                         b.shape().rank() > 0 && b.shape()[0] == a.shape()[0];
    comparison.add(by_rows ? a.rows(0, batch.rows) : a, by_rows ? b.rows(0, batch.rows) : b);
  }

  Json masks_json(const metrics::SegmentationOverlap& overlap, const std::string& name) const {
    const metrics::MaskOverlap mean = overlap.mean();
    Json result = {{"output", name}, {"pairs", overlap.pairs()}, {"iou", mean.iou}, {"boundary_iou", Json::array()}};
    for (size_t i = 0; i < ratios_.size(); ++i) {
      result["boundary_iou"].push_back({{"ratio", ratios_[i]}, {"iou", mean.boundary_iou[i]}});
    }
    return result;
  }

  int check(const std::vector<OutputComparison>& outputs, const Model& model) const {
    if (max_difference_ < 0) return kDone;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const double difference = outputs[i].max_of_range();
      TW_REQUIRE(difference <= max_difference_ && outputs[i].not_finite() == 0, "output ",
                 printable(model.outputs()[i].name), " differs by ", difference, " of its largest element",
                 outputs[i].not_finite() > 0 ? ", and where it is not finite" : "");
    }
    return kDone;
  }

  ModelOptions a_, b_;
  SampleOptions samples_;
  bool masks_ = false;
  std::string mask_output_;
  double threshold_ = 0.5;
  std::vector<double> ratios_ = {0.005, 0.01, 0.02, 0.05};
  double max_difference_ = -1;
};

const RegisterCommand kCompare([] { return std::make_unique<Compare>(); });

}  // namespace
}  // namespace thalweg::cli

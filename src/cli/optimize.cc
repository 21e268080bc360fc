// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/optimize.h"

#include "base/text.h"
#include "cli/progress.h"
#include "cli/samples.h"

namespace thalweg::cli {
namespace {

/// Ends the reading of samples.
struct Enough {};

class Optimize : public Command {
 public:
  CommandDescription describe() const override {
    return {"optimize", "Tries a model in other precisions and writes the fastest form whose answers agree",
            "thalweg optimize resnet50.onnx -o fast.onnx --calibrate photos/ --max-drop 0.01"};
  }

  void add_options(CLI::App& options) override {
    options.add_option("MODEL", model_, "ONNX file")->required();
    options.add_option("-o,--out", output_, "Write the fastest form to this file (default: only tell)");
    options
        .add_option("--precision", precisions_,
                    "auto, or some of f32, bf16, f16, int8, int8-dynamic, separated by commas: the forms to try")
        ->delimiter(',')
        ->capture_default_str();
    options.add_option(
        "--calibrate", samples_.path,
        "Array (.npy), arrays (.npz), image, folder of images, or table: ranges of int8 are taken from "
        "them and answers compared on them (default: random numbers, and int8-dynamic in place of int8)");
    options.add_option("--samples", most_samples_, "Use so many samples of them")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    options.add_option("--method", method_, "How ranges are taken: minmax, percentile or entropy")
        ->check(CLI::IsMember({"minmax", "percentile", "entropy"}))
        ->capture_default_str();
    options.add_option("--max-drop", optimize_.max_drop, "How much agreement with f32 may be lost; 0.01: 1%")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    options.add_option("--seconds", optimize_.seconds, "How long to time each form")
        ->check(CLI::Range(0.0, 3600.0))
        ->capture_default_str();
    options.add_option("--threads", optimize_.threads, "Compute threads (default: what the machine allows)")
        ->check(CLI::Range(1, 1024));
    samples_.add_reading_to(options);
  }

  int run() override {
    choose_forms();
    optimize_.calibration = calibration_from_name(method_);
    if (!samples_.path.empty()) read_samples();
    std::string doing;
    std::unique_ptr<Progress> progress;
    optimize_.progress = [&](const std::string& what, double done) {
      if (what != doing) {
        progress.reset();
        progress = std::make_unique<Progress>(shows_progress(), what);
      }
      doing = what;
      progress->update(done * 100.0, 100.0);
    };
    const OptimizeReport report = optimize(model_, output_, optimize_);
    progress.reset();
    print(Json::parse(to_json(report)), [&](const Json&) { return text_of(report); });
    return kDone;
  }

 private:
  void choose_forms() {
    if (precisions_ == std::vector<std::string>{"auto"}) return;
    for (const std::string& name : precisions_) {
      if (name == "auto") wrong_usage("--precision: auto stands by itself");
      try {
        optimize_.forms.push_back(model_form_from_name(name));
      } catch (const Error& error) {
        wrong_usage("--precision: ", error.what());
      }
    }
  }

  void read_samples() {
    const Model model = Model::load(model_);
    const Samples samples = open_samples(samples_, model);
    Progress progress(shows_progress(), "reading samples");
    const int64_t wanted = std::min(most_samples_, samples.dataset->size());
    try {
      for_each_batch(samples, {&model}, samples_, [&](const SampleBatch& batch) {
        if (batch.first >= wanted) throw Enough();
        std::vector<Tensor> inputs;
        for (const Tensor& input : batch.inputs) inputs.push_back(input.clone());
        optimize_.data.push_back(std::move(inputs));
        progress.update(static_cast<double>(batch.first + batch.rows), static_cast<double>(wanted));
      });
    } catch (const Enough&) {  // the rest is not needed
    }
    TW_REQUIRE(!optimize_.data.empty(), samples_.path, ": there are no samples");
  }

  std::string text_of(const OptimizeReport& report) const {
    std::string text = to_table(report);
    for (const FormReport& form : report.forms) {
      for (const std::string& layer : form.kept_layers) text += "  kept in f32: " + layer + "\n";
    }
    const std::string chosen = name_of(report.forms[report.chosen].form);
    text += output_.empty() ? "fastest: " + chosen + "; -o FILE would write it\n"
                            : chosen + " written to " + output_ + "\n";
    return text;
  }

  std::string model_, output_, method_ = name_of(Calibration::kPercentile);
  std::vector<std::string> precisions_ = {"auto"};
  int64_t most_samples_ = 256;
  SampleOptions samples_;
  OptimizeOptions optimize_;
};

const RegisterCommand kOptimize([] { return std::make_unique<Optimize>(); });

}  // namespace
}  // namespace thalweg::cli

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "cli/model_options.h"
#include "cli/prediction_writer.h"
#include "cli/progress.h"
#include "cli/samples.h"
#include "cli/source_kind.h"
#include "thalweg/predictor.h"

namespace thalweg::cli {
namespace {

using Kind = PredictionFormat::Kind;

const std::vector<std::pair<std::string, Kind>>& endings() {
  static const std::vector<std::pair<std::string, Kind>> all = {
      {".csv", Kind::kCsv}, {".jsonl", Kind::kJsonLines}, {".json", Kind::kJsonLines},
      {".npy", Kind::kNpy}, {".npz", Kind::kNpz},         {".txt", Kind::kText}};
  return all;
}

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path);
  TW_REQUIRE(file, path, ": cannot be read");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

class Predict : public Command {
 public:
  CommandDescription describe() const override {
    return {"predict", "Runs a model on data: arrays, images, texts or tables",
            "thalweg predict resnet50.onnx photos/ --resize 256 --crop 224 --top 5\n"
            "  thalweg predict model.onnx inputs.npz -o outputs.npz"};
  }

  void add_options(CLI::App& options) override {
    model_.add_to(options);
    samples_.add_to(options);
    options.add_option("-o,--out", format_.path,
                       "Write to this file: .csv, .jsonl, .npy, .npz or .txt (default: stdout)");
    options.add_option("--format", kind_, "text, csv or jsonl, where -o does not say it; --json is jsonl")
        ->check(CLI::IsMember({"text", "csv", "jsonl"}));
    options.add_option("--output", outputs_, "Name of an output to write (default: all)")->allow_extra_args(false);
    options
        .add_option("--top", top_,
                    "Write the so many likeliest classes of the first output (default: 5 if it tells of classes; 0: "
                    "everything as it is)")
        ->check(CLI::NonNegativeNumber);
    options.add_flag("--softmax", format_.softmax,
                     "Turn the first output into probabilities; a single score into those of two classes");
    options.add_option("--classes", classes_, "File with the name of each class in a line, if the model has none");
  }

  int run() override {
    choose_kind();
    // For one picture, to measure kernels first would take longer than the slower of them.
    const bool is_one = is_image_file(samples_.path);
    const Model model = model_.load(0, is_one ? Tuning::kFixed : Tuning::kMeasured);
    choose_outputs(model);
    // A file that is for batches of one size is run in these.
    const bool any_rows = model.inputs()[0].shape.has_value() && (*model.inputs()[0].shape)[0] == kFree;
    if (samples_.batch == 0 && any_rows && !Predictor(model).gives_rows()) samples_.batch = 1;
    const Samples samples = open_samples(samples_, model);
    format_.samples = samples.dataset->size();
    const auto writer = make_prediction_writer(format_);
    Progress progress(shows_progress(), "samples");
    for_each_batch(samples, {&model}, samples_, [&](const SampleBatch& batch) {
      const std::vector<Tensor> outputs = model.predict(batch.inputs);
      for (int64_t row = 0; row < batch.rows; ++row) {
        const std::vector<Tensor> all = outputs_of_sample(outputs, model.outputs(), batch, row);
        Prediction prediction{samples.name(batch.samples[static_cast<size_t>(row)]), {}};
        for (const size_t i : chosen_) prediction.outputs.push_back(all[i]);
        writer->write(prediction);
      }
      writer->flush();
      progress.update(static_cast<double>(batch.first + batch.rows), static_cast<double>(format_.samples));
    });
    writer->finish();
    return kDone;
  }

 private:
  void choose_kind() {
    if (json() || kind_ == "jsonl") format_.kind = Kind::kJsonLines;
    if (!json() && kind_ == "csv") format_.kind = Kind::kCsv;
    if (json() || !kind_.empty() || format_.path.empty()) return;
    const std::string ending = std::filesystem::path(format_.path).extension().string();
    const auto found =
        std::find_if(endings().begin(), endings().end(), [&](const auto& known) { return known.first == ending; });
    if (found == endings().end()) {
      wrong_usage("-o ", printable(format_.path),
                  ": the ending is none of .csv, .jsonl, .npy, .npz, .txt; or give --format");
    }
    format_.kind = found->second;
  }

  void choose_outputs(const Model& model) {
    std::vector<std::string> names;
    for (const ValueDescription& output : model.outputs()) names.push_back(output.name);
    if (outputs_.empty()) outputs_ = names;
    for (const std::string& name : outputs_) {
      const auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end())
        wrong_usage("--output ", printable(name), ": the model's outputs are ", join(names, ", "));
      chosen_.push_back(static_cast<size_t>(found - names.begin()));
    }
    format_.output_names = outputs_;
    format_.made_by = model.outputs()[chosen_[0]].made_by;
    format_.class_names = classes_.empty() ? data::metadata_from(model.metadata()).class_names : read_lines(classes_);
    const bool as_array = format_.kind == Kind::kNpy || format_.kind == Kind::kNpz;
    if (top_ > 0 && as_array) wrong_usage("--top cannot be written as an array");
    const bool gives_classes = (chosen_[0] == 0 && Predictor(model).gives_classes()) || !classes_.empty();
    format_.top = top_ >= 0 ? top_ : gives_classes && !as_array ? kUsualTop : 0;
    // As Model.predict of Python's gives them; the largest elements of what tells of no classes stay what they are.
    format_.softmax = format_.softmax || (format_.top > 0 && gives_classes);
    if (format_.kind == Kind::kNpy && outputs_.size() != 1) {
      wrong_usage("a .npy file holds one array, the model has ", outputs_.size(), " outputs: ", join(outputs_, ", "),
                  "; choose with --output, or write .npz");
    }
  }

  ModelOptions model_;
  SampleOptions samples_;
  PredictionFormat format_;
  std::string kind_, classes_;
  std::vector<std::string> outputs_;
  std::vector<size_t> chosen_;
  int64_t top_ = -1;
};

const RegisterCommand kPredict([] { return std::make_unique<Predict>(); });

}  // namespace
}  // namespace thalweg::cli

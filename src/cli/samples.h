// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "thalweg/data.h"
#include "thalweg/model.h"

namespace thalweg::cli {

/// Options about the data that a model is run on.
struct SampleOptions {
  std::string path;
  int64_t batch = 0;
  /// What to do with samples that cannot be read: "fail" or "skip".
  std::string bad_samples = "fail";
  // Of images, where the model's metadata does not say it, or says it wrongly.
  std::string resize, crop, interpolation = "bilinear", layout;
  std::vector<double> mean, deviation;
  int64_t max_pixels = data::DecodeOptions().max_pixels;
  // Of tables: "a,b,c", or "input=a,b,c" for each input.
  std::vector<std::string> columns;
  /// Of tables: in place of nulls.
  std::optional<double> fill;
  /// Of texts: whether each line begins with a class.
  bool labelled = false;

  void add_to(CLI::App& options);
  /// The same without the path.
  void add_reading_to(CLI::App& options);
  bool skips_bad_samples() const { return bad_samples == "skip"; }
  /// True if any option says how images become inputs.
  bool describe_images() const;
};

/// What to run a model on: the dataset's inputs are those of the model, in its order.
struct Samples {
  std::unique_ptr<data::Dataset> dataset;
  /// How people know a sample: its file, or its number.
  std::function<std::string(int64_t index)> name;
};

/// Opens arrays (.npy, .npz), an image, a folder of images, lines of text, or a table, as the path's ending says
/// (source_kind.h); whatever is no array is text to a model whose metadata say how text becomes its input. Throws
/// UsageError if the options or the data do not fit the model.
Samples open_samples(const SampleOptions& options, const Model& model);

/// The pipeline that the options, the metadata or, failing these, the shape of the model's input ask for. Warns in the
/// last case.
data::Pipeline image_pipeline(const SampleOptions& options, const Model& model);

/// Inputs of some samples in a row.
struct SampleBatch {
  /// How many came before.
  int64_t first = 0;
  int64_t rows = 0;
  /// The number of the sample in each row.
  std::vector<int64_t> samples;
  /// May have more rows if the model takes a fixed number: the rest repeats the last.
  std::vector<Tensor> inputs;
};

/// Reads all samples in order and hands them over in batches that all `models` take; reading goes on meanwhile. Warns
/// about samples that were left out.
void for_each_batch(const Samples& samples, const std::vector<const Model*>& models, const SampleOptions& options,
                    const std::function<void(const SampleBatch&)>& use);

/// Row `row` of each output without the dimension of the batch; the whole of it if the batch is one sample and the
/// first dimension is something else (boxes that were found). Throws if the first dimension is not the batch's.
std::vector<Tensor> outputs_of_sample(const std::vector<Tensor>& outputs,
                                      const std::vector<ValueDescription>& described, const SampleBatch& batch,
                                      int64_t row);

}  // namespace thalweg::cli

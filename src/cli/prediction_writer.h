// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/tensor.h"

namespace thalweg::cli {

/// What a model gave for one sample: its outputs without the dimension of the batch.
struct Prediction {
  std::string sample;
  std::vector<Tensor> outputs;
};

struct PredictionFormat {
  enum class Kind { kText, kCsv, kJsonLines, kNpy, kNpz };
  Kind kind = Kind::kText;
  /// "" for stdout.
  std::string path;
  std::vector<std::string> output_names;
  /// Of the elements of the first output; numbers stand in where there are none.
  std::vector<std::string> class_names;
  /// Write the so many largest elements of the first output rather than all outputs; 0: all.
  int64_t top = 0;
  /// Turn the first output into probabilities; a single score into those of two classes, as `classify` does.
  bool softmax = false;
  /// The operator that the first output comes from (ValueDescription::made_by).
  std::string made_by;
  /// How many predictions will come at most.
  int64_t samples = 0;
};

/// Takes predictions in the order of the samples. A file appears whole, by `finish`, or not at all.
class PredictionWriter {
 public:
  virtual ~PredictionWriter() = default;
  virtual void write(const Prediction& prediction) = 0;
  /// After a batch: whatever is complete is shown.
  virtual void flush() {}
  virtual void finish() {}
};

std::unique_ptr<PredictionWriter> make_prediction_writer(const PredictionFormat& format);

}  // namespace thalweg::cli

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "thalweg/tensor.h"

/// Finds the form in which an ONNX model runs fastest on this machine, and what that costs in accuracy.
namespace thalweg {

/// How the range of an activation is taken from the values seen.
enum class Calibration {
  kMinMax,      ///< all of it
  kPercentile,  ///< without the outermost ten-thousandth on each side
  kEntropy,     ///< where cutting large values and rounding the others lose least (Kullback-Leibler)
};
const char* name_of(Calibration method);
Calibration calibration_from_name(const std::string& name);

/// The forms that a model can take.
enum class ModelForm {
  kF32,          ///< as it was, simplified
  kBF16,         ///< weights stored and products computed in bf16 (in f32 on CPUs without bf16 instructions)
  kF16,          ///< weights stored in f16, half the size; computed in f32
  kInt8,         ///< convolutions and products with weights multiply bytes; ranges come from data
  kInt8Dynamic,  ///< products of matrices multiply bytes; ranges are taken anew in each run, no data needed
};
const char* name_of(ModelForm form);
/// "f32", "bf16", "f16", "int8", "int8-dynamic".
ModelForm model_form_from_name(const std::string& name);

struct OptimizeOptions {
  /// Forms to try. Empty: f32, bf16 if the CPU computes in it, int8 if there is data, int8-dynamic if there is none.
  std::vector<ModelForm> forms;
  /// Batches, each of the model's inputs: for the ranges of int8, to compare the answers of each form with those of
  /// f32, and to time it. Without any, agreement is measured on random inputs of the shapes below.
  std::vector<std::vector<Tensor>> data;
  /// Shapes of the inputs if there is no data. Empty: as the model declares them, with 1 for what it leaves open.
  std::vector<Shape> shapes;
  Calibration calibration = Calibration::kPercentile;
  /// How much agreement with f32 a form may lose: 0.01 asks for 99%. Layers that hurt most stay in f32 until it holds.
  double max_drop = 0.01;
  /// 0: what the machine and its control group allow.
  int threads = 0;
  /// For how long each form is timed.
  double seconds = 1.0;
  /// Called with what is being done, and how far it is (0 to 1).
  std::function<void(const std::string& doing, double done)> progress;
};

/// How well answers agree with those of the f32 model.
struct Agreement {
  /// Of outputs [N, classes]: the share of rows whose largest element is in the same place; of others 1 - the relative
  /// error. The lowest of all outputs.
  double score = 1.0;
  /// The largest |difference| of any output divided by its largest |element|.
  double max_error = 0.0;
};

struct FormReport {
  ModelForm form = ModelForm::kF32;
  double milliseconds = 0.0;  ///< the median run
  double samples_per_second = 0.0;
  uint64_t bytes = 0;  ///< of the weights
  Agreement agreement;
  int quantised_layers = 0;
  /// Layers that stayed in f32 because they hurt the agreement, the worst first.
  std::vector<std::string> kept_layers;
  bool accepted = true;
  std::string note;
};

struct OptimizeReport {
  std::vector<FormReport> forms;
  /// The fastest accepted one, which was written.
  size_t chosen = 0;
};

/// {"chosen": "int8", "forms": [{"form": "f32", "milliseconds": ..., ...}, ...]}
std::string to_json(const OptimizeReport& report);
/// For people: precision, latency, throughput, size and agreement, a line for each form.
std::string to_table(const OptimizeReport& report);

/// Reads the ONNX model at `path`, tries the forms, and writes the fastest whose agreement holds to `output` (""
/// writes nothing). The result is an ONNX file for any runtime; the metadata property "thalweg.precision" says in which
/// precision Thalweg is to run it. Throws an Error if no form is accepted.
OptimizeReport optimize(const std::string& path, const std::string& output, const OptimizeOptions& options = {});

}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/choose/measurement.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/variables.h"
#include "sync/compress/compressor.h"

namespace thalweg::sync {
namespace {

/// A matrix of so many rows and columns stands for all gradients in the timing of compressors.
constexpr int64_t kSide = 512;
constexpr int kTimings = 3;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Seconds that the compressor takes for a number of a gradient, making a code and reading it.
double seconds_per_float(Compressor& compressor) {
  const TensorType type{DType::kF32, {kSide, kSide}};
  std::vector<float> values(static_cast<size_t>(kSide * kSide)), sum(values.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  compressor.use({{"sample", values.size(), Layout(type)}});
  double best = std::numeric_limits<double>::max();
  Bytes code;
  for (int i = 0; i < kTimings; ++i) {
    code.clear();
    const auto begin = std::chrono::steady_clock::now();
    compressor.encode_alone(0, values, code);
    compressor.decode_alone(0, code, sum);
    best = std::min(best, seconds_since(begin));
  }
  return best / static_cast<double>(values.size());
}

double bytes_of(Compressor& compressor, const Variables& variables, const TrainedVariable& entry) {
  // Rows travel as they are.
  if (entry.sparse) return 0;
  compressor.use({{variables.name(entry.variable), entry.num_floats, variables.layout(entry.variable)}});
  return static_cast<double>(compressor.most_bytes_alone(0));
}

}  // namespace

void StepClock::add_gradient(const GradientView& gradient, int64_t row_size) {
  const bool dense = gradient.dense != nullptr;
  const size_t row_bytes = static_cast<size_t>(row_size) * sizeof(float) + sizeof(int64_t);
  const size_t bytes = dense ? gradient.num_floats * sizeof(float) : static_cast<size_t>(gradient.num_rows) * row_bytes;
  bytes_ += static_cast<double>(bytes);
}

void StepClock::stop() {
  most_bytes_ = std::max(most_bytes_, bytes_);
  bytes_ = 0;
  if (!runs_) return;
  seconds_.push_back(seconds_since(begun_));
  total_ += seconds_.back();
  runs_ = false;
}

void StepClock::start() {
  begun_ = Clock::now();
  runs_ = true;
}

std::vector<FormCost> measure_forms(Trainee& trainee) {
  std::vector<FormCost> forms = {{.compression = "bf16", .options = {}},
                                 {.compression = "powersgd", .options = {{"rank", 4}}}};
  for (FormCost& form : forms) {
    const std::unique_ptr<Compressor> compressor = make_compressor(form.compression, form.options);
    const double each = seconds_per_float(*compressor);
    for (const TrainedVariable& entry : trainee.trained()) {
      form.bytes += bytes_of(*compressor, trainee.variables(), entry);
      if (!entry.sparse) form.seconds += each * static_cast<double>(entry.num_floats);
    }
  }
  return forms;
}

}  // namespace thalweg::sync

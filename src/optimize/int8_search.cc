// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optimize/int8_search.h"

#include <algorithm>

#include "model/model_impl.h"
#include "optimize/agreement.h"
#include "optimize/layers.h"
#include "optimize/quantize_model.h"

namespace thalweg {
namespace {

/// Batches on which single layers are tried: their order matters, not the last digit.
constexpr size_t kTrialBatches = 2;

Model runner(const EditedGraph& model, const OptimizeOptions& options) {
  InferenceOptions run;
  run.threads = options.threads;
  return model.model(run);
}

QuantizedModel quantized(const EditedGraph& model, const std::map<std::string, Range>& ranges,
                         const std::vector<Layer>& kept, const Answers& expected, const OptimizeOptions& options,
                         size_t batches) {
  QuantizedModel result{model, {}, 0, {}};
  std::set<std::string> outputs;
  for (const Layer& layer : kept) {
    outputs.insert(layer.output);
    result.kept.push_back(layer.label);
  }
  result.layers = quantize_model(result.model, ranges, outputs);
  result.agreement = agreement_of(result.model, expected, options, batches);
  return result;
}

/// Layers, those whose quantisation alone changes the answers most first.
std::vector<Layer> by_damage(const EditedGraph& model, const std::map<std::string, Range>& ranges,
                             const Answers& expected, const OptimizeOptions& options) {
  const std::vector<Layer> layers = quantizable_layers(model);
  const size_t batches = std::min(kTrialBatches, options.data.size());
  std::vector<std::pair<double, size_t>> damage;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (options.progress) {
      options.progress("trying layers by themselves", static_cast<double>(i) / static_cast<double>(layers.size()));
    }
    std::vector<Layer> others = layers;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    damage.emplace_back(-quantized(model, ranges, others, expected, options, batches).agreement.max_error, i);
  }
  std::stable_sort(damage.begin(), damage.end());
  std::vector<Layer> sorted;
  for (const auto& entry : damage) sorted.push_back(layers[entry.second]);
  return sorted;
}

}  // namespace

Agreement agreement_of(const EditedGraph& model, const Answers& expected, const OptimizeOptions& options,
                       size_t batches) {
  const Model run = runner(model, options);
  AgreementMeter meter;
  for (size_t i = 0; i < batches; ++i) meter.add(expected[i], run.predict(options.data[i]));
  return meter.result();
}

QuantizedModel search_int8(const EditedGraph& model, const Answers& expected, const OptimizeOptions& options) {
  const std::map<std::string, Range> ranges = calibrate(model, values_to_calibrate(model), options);
  const size_t all = options.data.size();
  const auto holds = [&](const QuantizedModel& candidate) {
    return candidate.agreement.score >= 1.0 - options.max_drop;
  };
  QuantizedModel whole = quantized(model, ranges, {}, expected, options, all);
  if (holds(whole) || whole.layers == 0) return whole;
  const std::vector<Layer> worst = by_damage(model, ranges, expected, options);
  for (size_t kept = 1; kept < worst.size(); kept *= 2) {
    if (options.progress) options.progress("keeping " + std::to_string(kept) + " layers in f32", 0.0);
    const std::vector<Layer> keep(worst.begin(), worst.begin() + static_cast<std::ptrdiff_t>(kept));
    QuantizedModel candidate = quantized(model, ranges, keep, expected, options, all);
    if (holds(candidate)) return candidate;
  }
  return quantized(model, ranges, worst, expected, options, all);
}

}  // namespace thalweg

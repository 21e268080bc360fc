// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>

#include "thalweg/metrics.h"

namespace thalweg::metrics {
namespace {

constexpr const char* kAccuracy = "accuracy";
/// Those that take a single score above a threshold for the second of two classes.
constexpr std::array<std::string_view, 4> kDeciding = {"binary_accuracy", "precision", "recall", "f1"};

bool has_single_score(const Shape& output) {
  return std::all_of(output.begin() + (output.rank() > 0 ? 1 : 0), output.end(), [](int64_t dim) { return dim == 1; });
}

/// Where the two classes meet. Logits meet at 0, as a model's own classes do; what another loss takes is read as a
/// probability.
double threshold_for(const std::string& loss) { return loss.empty() || loss == "bce_with_logits" ? 0.0 : 0.5; }

}  // namespace

MetricPtr fitting_metric(const std::string& name, const std::string& loss, const Shape& output) {
  if (!has_single_score(output)) return make_metric(name);
  const double threshold = threshold_for(loss);
  if (name == kAccuracy) return on_output(binary_accuracy(threshold), 0, 0, kAccuracy);
  const bool decides = std::find(kDeciding.begin(), kDeciding.end(), name) != kDeciding.end();
  return decides ? make_metric(name, {{"threshold", threshold}}) : make_metric(name);
}

}  // namespace thalweg::metrics

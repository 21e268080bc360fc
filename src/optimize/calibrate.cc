// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optimize/calibrate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "model/model_impl.h"

namespace thalweg {
namespace {

constexpr size_t kBins = 2048;
/// The share of values that kPercentile cuts off on each side.
constexpr double kCutShare = 1e-4;
/// Steps on one side of zero.
constexpr size_t kLevels = 128;

/// Calls body(value index, content) for all values of all batches.
template <typename Body>
void for_each_content(const Model& model, size_t count, const OptimizeOptions& options, const std::string& doing,
                      Body body) {
  for (size_t batch = 0; batch < options.data.size(); ++batch) {
    if (options.progress)
      options.progress(doing, static_cast<double>(batch) / static_cast<double>(options.data.size()));
    const std::vector<Tensor> outputs = model.predict(options.data[batch]);
    const size_t first = outputs.size() - count;
    for (size_t i = 0; i < count; ++i) body(i, outputs[first + i]);
  }
}

Range min_max(const std::string& name, const Tensor& content, Range range) {
  TW_REQUIRE(content.dtype() == DType::kF32, "the value ", printable(name), " is ", name_of(content.dtype()),
             ", and only f32 can be quantised");
  const float* values = content.data<float>();
  float low = static_cast<float>(range.low), high = static_cast<float>(range.high);
  float sum = 0.0f;  // not finite if an element is not
  for (int64_t i = 0; i < content.num_elements(); ++i) {
    low = std::min(low, values[i]);
    high = std::max(high, values[i]);
    sum += values[i] * 0.0f;
  }
  TW_REQUIRE(std::isfinite(sum), "the value ", printable(name), " has elements that are not finite for this data");
  return {low, high};
}

/// Kullback-Leibler divergence between counts and the same counts with the tail cut at `kept` bins and what is left
/// rounded to kLevels levels.
double divergence(const std::vector<double>& counts, size_t kept, double total) {
  double cut = 0.0;
  for (size_t i = kept; i < counts.size(); ++i) cut += counts[i];
  double result = 0.0;
  for (size_t level = 0; level < kLevels; ++level) {
    const size_t begin = level * kept / kLevels, end = (level + 1) * kept / kLevels;
    double sum = 0.0;
    size_t occupied = 0;
    for (size_t i = begin; i < end; ++i) {
      sum += counts[i];
      occupied += counts[i] > 0.0 ? 1 : 0;
    }
    for (size_t i = begin; i < end; ++i) {
      const double wanted = counts[i] + (i + 1 == kept ? cut : 0.0);
      if (wanted == 0.0) continue;
      // Where nothing was left to be rounded to, a tiny share stands for it.
      const double given = counts[i] > 0.0 ? sum / static_cast<double>(occupied) : 1e-9 * total;
      result += wanted / total * std::log(wanted / given * (total - cut) / total);
    }
  }
  return result;
}

}  // namespace

void Histogram::add(const float* values, int64_t count) {
  const double width = range_.high - range_.low;
  const double scale = width > 0.0 ? static_cast<double>(counts_.size()) / width : 0.0;
  for (int64_t i = 0; i < count; ++i) {
    const double place = (values[i] - range_.low) * scale;
    ++counts_[std::min(static_cast<size_t>(std::max(place, 0.0)), counts_.size() - 1)];
  }
}

Range percentile_range(const Histogram& histogram, double share_cut) {
  const auto& counts = histogram.counts();
  uint64_t total = 0;
  for (const uint64_t count : counts) total += count;
  const auto most = static_cast<uint64_t>(share_cut * static_cast<double>(total));
  size_t begin = 0, end = counts.size();
  for (uint64_t cut = 0; begin < end && (cut += counts[begin]) <= most;) ++begin;
  for (uint64_t cut = 0; begin < end && (cut += counts[end - 1]) <= most;) --end;
  const double width = (histogram.range().high - histogram.range().low) / static_cast<double>(counts.size());
  return {histogram.range().low + static_cast<double>(begin) * width,
          histogram.range().low + static_cast<double>(end) * width};
}

Range entropy_range(const Histogram& histogram) {
  const Range& range = histogram.range();
  const double reach = std::max(-range.low, range.high);
  if (reach <= 0.0) return range;
  // By distance from zero: cutting one side more than the other gains little.
  std::vector<double> counts(kBins, 0.0);
  const double width = (range.high - range.low) / static_cast<double>(histogram.counts().size());
  double total = 0.0;
  for (size_t i = 0; i < histogram.counts().size(); ++i) {
    const double middle = range.low + (static_cast<double>(i) + 0.5) * width;
    const auto place = static_cast<size_t>(std::fabs(middle) / reach * kBins);
    counts[std::min(place, kBins - 1)] += static_cast<double>(histogram.counts()[i]);
    total += static_cast<double>(histogram.counts()[i]);
  }
  if (total == 0.0) return range;
  size_t best = kBins;
  double least = std::numeric_limits<double>::infinity();
  for (size_t kept = kLevels; kept <= kBins; kept += 8) {
    const double loss = divergence(counts, kept, total);
    if (loss < least) {
      least = loss;
      best = kept;
    }
  }
  const double bound = reach * static_cast<double>(best) / kBins;
  return {std::max(range.low, -bound), std::min(range.high, bound)};
}

std::map<std::string, Range> calibrate(const EditedGraph& model, const std::vector<std::string>& values,
                                       const OptimizeOptions& options) {
  TW_REQUIRE(!options.data.empty(), model.name(), ": the ranges of int8 need data to be taken from");
  EditedGraph watched = model;
  for (const std::string& value : values) watched.graph().mark_output(watched.graph().find(value));
  InferenceOptions run;
  run.threads = options.threads;
  const Model runner = watched.model(run);
  std::vector<Range> ranges(values.size());
  for_each_content(runner, values.size(), options, "taking ranges",
                   [&](size_t i, const Tensor& content) { ranges[i] = min_max(values[i], content, ranges[i]); });
  if (options.calibration != Calibration::kMinMax) {
    std::vector<Histogram> histograms;
    for (const Range& range : ranges) histograms.emplace_back(range, kBins);
    for_each_content(runner, values.size(), options, "counting values", [&](size_t i, const Tensor& content) {
      histograms[i].add(content.data<float>(), content.num_elements());
    });
    const bool entropy = options.calibration == Calibration::kEntropy;
    for (size_t i = 0; i < values.size(); ++i) {
      ranges[i] = entropy ? entropy_range(histograms[i]) : percentile_range(histograms[i], kCutShare);
    }
  }
  std::map<std::string, Range> result;
  for (size_t i = 0; i < values.size(); ++i) result[values[i]] = ranges[i];
  return result;
}

}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/data/features.h"

namespace thalweg::data {

class FeatureStatistic;

/// Fits features to rows that lie in several places, or that come a few at a time:
///
///   FeaturesFit fit(features);
///   while (!fit.is_done()) {
///     for (const auto& rows : places) {
///       FeaturesFit there = FeaturesFit::from_json(fit.to_json());
///       there.see(rows);
///       fit.merge(there.state());
///     }
///     fit.end_pass();
///   }
///
/// A pass over the rows is enough unless a feature learns of what another one has made, such as the mean of a column
/// whose gaps are filled by what is learned. Used by one thread at a time.
class FeaturesFit {
 public:
  /// Nothing is learned yet, whatever the features hold.
  explicit FeaturesFit(Features features);
  FeaturesFit(FeaturesFit&&) noexcept;
  FeaturesFit& operator=(FeaturesFit&&) noexcept;
  ~FeaturesFit();

  /// True if all features have learned what they need.
  bool is_done() const;
  /// With what passes that have ended taught them.
  const Features& features() const { return features_; }
  /// The columns that rows must have for this pass.
  const std::vector<std::string>& sources() const { return sources_; }

  /// Rows as they are before all features. Throws Error that names a column and a row (of these rows) of which nothing
  /// can be learned; the fit is then of no more use.
  void see(std::vector<Column> columns);
  /// What was seen in this pass, as JSON.
  std::string state() const;
  /// What another fit has seen in the same pass. Throws Error if the state is of something else.
  void merge(const std::string& state);
  /// The features learn what was seen. Throws Error if that was nothing where something is needed.
  void end_pass();

  /// Where the fit stands between passes; what was seen in this one is not part of it.
  std::string to_json() const;
  /// Features alone, as Features::to_json writes them, stand for a fit that begins.
  static FeaturesFit from_json(const std::string& text);

 private:
  /// In a pass a feature learns, changes the rows for others that learn, or does nothing.
  enum class Step { kRests, kLearns, kApplies };

  FeaturesFit(Features features, std::vector<bool> learned);
  void begin_pass();
  void take_sizes_from_categories();

  Features features_;
  std::vector<bool> learned_;
  /// What happens to each feature in this pass, and what those that learn have seen (else null).
  std::vector<Step> steps_;
  std::vector<std::unique_ptr<FeatureStatistic>> statistics_;
  std::vector<std::string> sources_;
};

}  // namespace thalweg::data

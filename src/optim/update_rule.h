// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/kernels/simd/optimizer_loops.h"
#include "thalweg/optim.h"

namespace thalweg::optim {

struct SlotSpec {
  std::string name;
  float initial = 0.0f;
};

/// What one update of one parameter depends on besides its arrays.
struct StepContext {
  double learning_rate = 0.0;  // with the factor of the parameter's group
  int64_t step = 1;            // how many times this parameter has been updated, this time included
  double gradient_scale = 1.0;
  double clip_value = std::numeric_limits<double>::infinity();
  ParameterSettings settings;
};

/// The formula of an optimiser: stateless, so that all parameters share one.
class UpdateRule {
 public:
  UpdateRule(std::string name, double default_learning_rate, double weight_decay)
      : name_(std::move(name)), default_learning_rate_(default_learning_rate), weight_decay_(weight_decay) {}
  virtual ~UpdateRule() = default;

  const std::string& name() const { return name_; }
  double default_learning_rate() const { return default_learning_rate_; }
  double weight_decay() const { return weight_decay_; }
  /// In the order in which `apply` expects them in UpdateTarget::slots.
  virtual std::vector<SlotSpec> slots() const = 0;
  /// Each element's step depends on that element alone.
  virtual bool elementwise() const { return true; }
  virtual void apply(const StepContext& context, const simd::UpdateTarget& target) const = 0;

 protected:
  /// Scale, clipping and regularisation, without weight decay.
  static simd::GradientTerms plain_terms(const StepContext& context);
  /// The same with weight decay added to the gradient.
  static simd::GradientTerms decayed_terms(const StepContext& context);
  /// Throws unless `value` lies in [low, high).
  void require_range(const char* option, double value, double low, double high) const;
  void require_positive(const char* option, double value) const;
  void require_not_negative(const char* option, double value) const;

 private:
  std::string name_;
  double default_learning_rate_;
  double weight_decay_;
};

}  // namespace thalweg::optim

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sync/compress/compressor.h"

namespace thalweg::sync {

/// Numbers that a worker keeps for each element of its gradients, from step to step. A step writes what it will keep
/// aside; that takes the place of what was kept before when the step is committed.
class Feedback {
 public:
  /// The name is the first part of those of the tensors of `save`.
  explicit Feedback(std::string name) : name_(std::move(name)) {}

  /// Zero for gradients that were not there before, or had another size.
  void use(const std::vector<GradientShape>& gradients);
  /// Gradients.
  size_t size() const { return entries_.size(); }
  std::span<const float> kept(size_t gradient) const { return entries_[gradient].kept; }
  /// The same, to be changed outside a step.
  std::span<float> values(size_t gradient) { return entries_[gradient].kept; }
  /// Room for what the step under way will keep, to be written whole.
  std::span<float> next(size_t gradient);
  void commit();
  void roll_back();

  void clear();
  /// In plain layout.
  void save(std::vector<NamedTensor>& state) const;
  /// Adds what tensors of these names hold; others are left alone. Throws Error if one is of another shape.
  void add(const std::vector<NamedTensor>& state);

 private:
  struct Entry {
    GradientShape shape;
    std::vector<float> kept;
    std::vector<float> next;
    /// The step under way has written `next`.
    bool changed = false;
  };

  std::string name_;
  std::vector<Entry> entries_;
};

/// A compressor of the kind `Base` that keeps what it leaves out, and nothing else.
template <typename Base>
class WithFeedback : public Base {
 public:
  void use(const std::vector<GradientShape>& gradients) override {
    residual_.use(gradients);
    floats_.clear();
    for (const GradientShape& gradient : gradients) floats_.push_back(gradient.floats);
  }
  void commit() override { residual_.commit(); }
  void roll_back() override { residual_.roll_back(); }
  std::vector<NamedTensor> state() const override {
    std::vector<NamedTensor> result;
    residual_.save(result);
    return result;
  }
  void add_state(const std::vector<NamedTensor>& state) override { residual_.add(state); }
  void clear_state() override { residual_.clear(); }
  Feedback* kept() override { return &residual_; }

 protected:
  Feedback& residual() { return residual_; }
  /// Of a gradient.
  size_t floats(size_t gradient) const { return floats_[gradient]; }

 private:
  Feedback residual_{"residual"};
  std::vector<size_t> floats_;
};

/// Sum, over the elements, of what a gradient is and what is kept of earlier ones.
void add_kept(std::span<const float> fresh, std::span<const float> kept, std::span<float> sum);

/// What is not finite would stay so for ever: the loss tells of it, and nothing is kept.
void drop_non_finite(std::span<float> values);

}  // namespace thalweg::sync

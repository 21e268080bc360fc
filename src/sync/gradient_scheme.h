// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "sync/exchange_thread.h"
#include "sync/group_scheme.h"
#include "sync/step_codes.h"
#include "sync/update_place.h"

namespace thalweg::sync {

/// Gradients travel, at every step, and all workers wait for each other: a composition of buckets, a compressor, and a
/// place where sums are made and parameters updated.
class GradientScheme : public GroupScheme {
 public:
  struct Parts {
    /// Gradients are exchanged in pieces of about so many bytes, each as soon as it is complete.
    size_t bucket_bytes = 0;
    std::unique_ptr<GradientExchange> exchange;
    /// In which rows of sparse gradients travel.
    DType row_type = DType::kF32;
    std::unique_ptr<UpdatePlace> place;
    /// Steps in which all that a compressor keeps is copied to another worker once; 0: never.
    int64_t copy_every = 0;
  };
  GradientScheme(std::shared_ptr<comm::Group> group, const SchemeOptions& options, Parts parts);

  GradientPath gradient_path() const override {
    return in_place_ ? GradientPath::kHandedOverInPlace : GradientPath::kHandedOver;
  }
  void add_gradient(const GradientView& gradient, double weight) override;
  Update exchange(StepTotals& totals) override;

 protected:
  void prepare(Trainee& trainee) override;
  void release() override {
    thread_.reset();
    place_->release();
  }
  Holdings holdings() const override { return {Held::kReplicated, place_->optimizer_held()}; }
  comm::Status begin_checkpoint(Trainee& trainee) override { return place_->begin_checkpoint(trainee); }
  void end_checkpoint(Trainee& trainee) override { place_->end_checkpoint(trainee); }
  std::vector<NamedTensor> own_state() override;
  void set_own_state(const std::vector<std::vector<NamedTensor>>& states) override { codes_.set_state(states); }
  void was_left_behind() override { codes_.clear(); }
  comm::Status complete_state(Trainee& trainee, int64_t target, bool counts) override;
  comm::Status last_exchange() override { return place_->last_exchange(); }

 private:
  void make_buckets(const Trainee& trainee);
  void begin_step();
  void post(const std::vector<std::span<float>>& complete);
  /// What sums have to be multiplied with to be means, where nothing was multiplied before.
  double scale() const { return in_place_ ? 1.0 / share().parts : 1.0; }

  size_t bucket_bytes_;
  std::unique_ptr<GradientExchange> exchange_;
  SparseExchange sparse_exchange_;
  FeedbackCopies copies_;
  StepCodes codes_;
  std::unique_ptr<UpdatePlace> place_;
  /// Large gradients are added up where they are. With equal shares nothing has to be multiplied before that; the sum
  /// is, with the update. A code of few digits would overflow.
  bool in_place_;
  Trainee* trainee_ = nullptr;
  std::optional<GradientBuckets> buckets_;
  std::optional<ExchangeThread> thread_;
  bool step_begun_ = false;
  /// Posted to the thread before the buckets of a step.
  size_t tasks_before_ = 0;
};

}  // namespace thalweg::sync

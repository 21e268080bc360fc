// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Every worker adds up the gradients of all, and makes the same update.
#include <algorithm>
#include <optional>

#include "sync/exchange_thread.h"
#include "sync/gradient_exchange.h"
#include "sync/schemes.h"
#include "sync/sparse_exchange.h"

namespace thalweg::sync {
namespace {

/// Smaller gradients are copied, to be exchanged together.
constexpr size_t kInPlaceBytes = size_t{1} << 20U;

class AllReduce : public GroupScheme {
 public:
  AllReduce(std::shared_ptr<comm::Group> group, const SchemeOptions& options)
      : GroupScheme(std::move(group), options),
        bucket_bytes_(options.bucket_bytes),
        in_place_(options.compression == Compression::kNone),
        exchange_(options.compression),
        sparse_exchange_(options.compression) {}

  bool exchanges_gradients() const override { return true; }
  bool keeps_gradients() const override { return in_place_; }
  double gradient_scale() const override { return in_place_ ? 1.0 / size() : 1.0; }

  void add_gradient(const GradientView& gradient, double weight) override {
    if (!step_begun_) begin_step();
    buckets_->add(gradient, weight / gradient_scale());
    post(buckets_->take_complete(false));
  }

  std::vector<GradientView> finish_gradients(StepTotals& totals) override {
    if (!step_begun_) begin_step();
    step_begun_ = false;
    post(buckets_->take_complete(true));
    for (SparseRows& rows : buckets_->sparse()) {
      sparse_exchange_.begin(rows);
      thread_->post([this, &rows] { return sparse_exchange_.gather(communicator(), rows); });
    }
    thread_->post([&] { return exchange_totals(totals); });
    if (!in_place_) decode_as_they_come();
    require(thread_->wait());
    return buckets_->views();
  }

 protected:
  void prepare(Trainee& trainee) override {
    buckets_.emplace(trainee.trained(), bucket_bytes_,
                     in_place_ ? std::min(kInPlaceBytes, bucket_bytes_) : GradientBuckets::kNeverInPlace);
    exchange_.use(*buckets_);
    sparse_exchange_.use(*buckets_);
    thread_.emplace(communicator());
    step_begun_ = false;
  }
  void release() override { thread_.reset(); }

 private:
  void begin_step() {
    buckets_->begin_step();
    step_begun_ = true;
  }
  void post(const std::vector<std::span<float>>& complete) {
    for (const std::span<float> values : complete) {
      exchange_.begin(values);
      thread_->post([this, values] { return exchange_.all_reduce(communicator(), values); });
    }
  }

  /// While a bucket travels, the one before it is decoded.
  void decode_as_they_come() {
    const std::vector<std::span<float>> buckets = buckets_->all();
    for (size_t i = 0; i < buckets.size() && thread_->wait_for(i + 1); ++i) exchange_.end(buckets[i]);
  }

  int size() const { return share().parts; }

  size_t bucket_bytes_;
  /// Large gradients are added up where they are. With equal shares nothing has to be multiplied before that; the sum
  /// is, with the update. A code of few digits would overflow.
  bool in_place_;
  std::optional<GradientBuckets> buckets_;
  GradientExchange exchange_;
  SparseExchange sparse_exchange_;
  std::optional<ExchangeThread> thread_;
  bool step_begun_ = false;
};

}  // namespace

std::shared_ptr<Scheme> make_allreduce(const SchemeOptions& options, std::shared_ptr<comm::Group> group) {
  return std::make_shared<AllReduce>(std::move(group), options);
}

}  // namespace thalweg::sync

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Each worker adds up the gradients of its part of the parameters, updates it, and hands the new weights to all.
#include <cmath>
#include <optional>

#include "sync/exchange_thread.h"
#include "sync/gradient_exchange.h"
#include "sync/schemes.h"
#include "sync/shard.h"
#include "sync/sparse_exchange.h"
#include "train/gradient_sums.h"

namespace thalweg::sync {
namespace {

constexpr uint32_t kCopyTag = 1;

class Sharded : public GroupScheme {
 public:
  Sharded(std::shared_ptr<comm::Group> group, const SchemeOptions& options)
      : GroupScheme(std::move(group), options),
        bucket_bytes_(options.bucket_bytes),
        copies_(options.copies),
        exchange_(options.compression),
        sparse_exchange_(options.compression) {
    TW_REQUIRE(options.copies >= 0, "sharded keeps ", options.copies, " copies of the optimiser's state: at least 0");
  }

  bool exchanges_gradients() const override { return true; }

  void add_gradient(const GradientView& gradient, double weight) override {
    begin_step();
    buckets_->add(gradient, weight);
    post(buckets_->take_complete(false));
  }

  std::vector<GradientView> finish_gradients(StepTotals& totals) override {
    begin_step();
    step_begun_ = false;
    post(buckets_->take_complete(true));
    for (SparseRows& rows : buckets_->sparse()) {
      sparse_exchange_.begin(rows);
      thread_->post([this, &rows] { return sparse_exchange_.gather(communicator(), rows); });
    }
    thread_->post([&] { return exchange_totals(totals); });
    require(thread_->wait());
    if (!std::isfinite(totals.loss)) return {};
    if (trainee_->clip_norm() > 0) measure_norm();
    update();
    require(hand_out());
    updated_to_ = kNothing;
    return buckets_->sparse_views();
  }

  std::optional<double> gradient_norm_squared() const override { return norm_squared_; }

  void before_checkpoint(Trainee& trainee) override {
    require(collect_state(communicator(), trainee.updater(), dense_, *buckets_, own_parts(group().size()), leads()));
  }
  void after_checkpoint(Trainee& trainee) override {
    // Who still counts as one that has all must.
    if (leads() && !has_all_) shard_->forget_the_rest(trainee);
  }

 protected:
  void prepare(Trainee& trainee) override {
    trainee_ = &trainee;
    const int size = group().size();
    make_buckets(trainee);
    exchange_.use(*buckets_);
    sparse_exchange_.use(*buckets_);
    shard_.emplace(trainee, *buckets_, Shard::Place{size, group().rank(), copies()});
    own_pieces_ = buckets_->pieces(size, group().rank());
    thread_.emplace(communicator());
    step_begun_ = false;
    updated_to_ = kNothing;
    has_all_ = true;
  }

  void release() override { thread_.reset(); }

  /// Of those who are at the step, or made its update without learning that all did, somebody has each part. If nobody
  /// has completed the update that some have made, they take it back.
  comm::Status complete_state(Trainee& trainee, int64_t target, bool counts) override {
    if (updated_to_ == target + 1) {
      const auto lock = trainee.lock_weights();
      shard_->put_back(trainee);
      updated_to_ = kNothing;
      has_all_ = false;
    }
    const bool holds = counts && (trainee.iteration() == target || updated_to_ == target);
    ShardSources sources;
    const Holding mine{holds ? std::optional(shard_->place()) : std::nullopt, has_all_};
    if (comm::Status status = find_sources(communicator(), mine, sources); !status) return status;
    for (int part = 0; part < sources.parts; ++part) {
      TW_REQUIRE(sources.source[static_cast<size_t>(part)] >= 0, "part ", part + 1, " of ", sources.parts,
                 " of the optimiser's state is lost: its worker and the ", copies_,
                 " that kept copies ended at the same time. Go on from a checkpoint, or set more copies");
    }
    // A newcomer has none yet, but what they consist of depends on the parameters alone.
    if (!buckets_) make_buckets(trainee);
    comm::Status status = collect_state(communicator(), trainee.updater(), dense_, *buckets_, sources, true);
    if (status.ok() && holds) has_all_ = true;
    return status;
  }

  /// What a checkpoint, or another run of the trainer, needs afterwards.
  comm::Status last_exchange() override {
    return collect_state(communicator(), trainee_->updater(), dense_, *buckets_, own_parts(group().size()), true);
  }

 private:
  static constexpr int64_t kNothing = -1;

  void make_buckets(const Trainee& trainee) {
    buckets_.emplace(trainee.trained(), bucket_bytes_);
    dense_ = dense_parameters(trainee);
  }

  int copies() { return std::min(copies_, group().size() - 1); }

  void begin_step() {
    if (step_begun_) return;
    buckets_->begin_step();
    norm_squared_.reset();
    step_begun_ = true;
  }

  void post(const std::vector<std::span<float>>& complete) {
    for (const std::span<float> values : complete) {
      exchange_.begin(values);
      thread_->post([this, values] { return reduce(values); });
    }
  }

  /// Ends with the sums of the own part, and of those that this worker keeps copies of.
  comm::Status reduce(std::span<float> values) {
    comm::Status status = exchange_.reduce_scatter(communicator(), values);
    const int size = group().size(), rank = group().rank();
    const auto part = [&](int owner) {
      const comm::Part range = comm::part_of(values.size(), size, owner);
      return values.subspan(range.begin, range.size());
    };
    for (int distance = 1; distance <= copies() && status.ok(); ++distance) {
      const int to = (rank + distance) % size, from = (rank - distance + size) % size;
      status = communicator().exchange(to, part(rank).data(), part(rank).size_bytes(), from, part(from).data(),
                                       part(from).size_bytes(), kCopyTag);
    }
    return status;
  }

  void measure_norm() {
    double total = 0;
    for (const Piece& piece : own_pieces_) total += optim::norm_squared(piece.gradient);
    // Every worker has all rows of the sparse ones.
    if (group().rank() == 0) total += norm_of_sparse();
    require(communicator().all_reduce(&total, 1, DType::kF64));
    norm_squared_ = total;
  }

  double norm_of_sparse() {
    double total = 0;
    const std::vector<GradientView> views = buckets_->sparse_views();
    for (size_t i = 0; i < views.size(); ++i) total += norm_squared(views[i], buckets_->sparse()[i].row_size);
    return total;
  }

  void update() {
    if (has_all_) shard_->forget_the_rest(*trainee_);
    has_all_ = false;
    shard_->save(*trainee_);
    const double scale = norm_squared_ ? optim::norm_clip_scale(*norm_squared_, trainee_->clip_norm()) : 1.0;
    shard_->update(*trainee_, scale);
    updated_to_ = trainee_->iteration() + 1;
  }

  /// Every worker ends with all weights. The buckets, whose gradients have served, carry them.
  comm::Status hand_out() {
    for (const Piece& piece : own_pieces_) {
      const std::span<float> weights = weights_of(*trainee_, piece);
      std::copy(weights.begin(), weights.end(), piece.gradient.begin());
    }
    for (const std::span<float> values : buckets_->all()) {
      comm::Status status = communicator().all_gather(values.data(), values.size(), DType::kF32);
      if (!status) return status;
    }
    for (const Piece& piece : buckets_->pieces(1, 0)) {
      const std::span<float> weights = weights_of(*trainee_, piece);
      std::copy(piece.gradient.begin(), piece.gradient.end(), weights.begin());
    }
    return {};
  }

  size_t bucket_bytes_;
  int copies_;
  Trainee* trainee_ = nullptr;
  std::optional<GradientBuckets> buckets_;
  std::vector<DenseParameter> dense_;
  std::optional<Shard> shard_;
  std::vector<Piece> own_pieces_;
  GradientExchange exchange_;
  SparseExchange sparse_exchange_;
  std::optional<ExchangeThread> thread_;
  bool step_begun_ = false;
  std::optional<double> norm_squared_;
  /// The step whose update this worker has made, but of which it does not know yet that all others have.
  int64_t updated_to_ = kNothing;
  /// The optimiser has the state of all parts, as it does when a group has formed, until the first update.
  bool has_all_ = false;
};

}  // namespace

std::shared_ptr<Scheme> make_sharded(const SchemeOptions& options, std::shared_ptr<comm::Group> group) {
  return std::make_shared<Sharded>(std::move(group), options);
}

}  // namespace thalweg::sync

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Those who own a part of the parameters add up the gradients of all for it, update it, and hand the new weights to
// all.
#include <optional>

#include "sync/topology.h"
#include "sync/update_place.h"
#include "train/gradient_sums.h"

namespace thalweg::sync {
namespace {

class UpdateByOwners : public UpdatePlace {
 public:
  UpdateByOwners(std::unique_ptr<OwnerExchange> owners, int copies) : owners_(std::move(owners)), copies_(copies) {}

  Held optimizer_held() const override { return Held::kSharded; }

  void prepare(const Context& context) override {
    context_.emplace(context);
    dense_ = dense_parameters(context.trainee);
    shard_.emplace(context.trainee, context.buckets, owners_->place(context.group));
    own_pieces_ = owners_->own_pieces(context.group, context.buckets);
    updated_to_ = kNothing;
    has_all_ = true;
  }

  void release() override { owners_->release(); }

  comm::Status reduce(std::span<float> bucket) override {
    return owners_->collect(context_->group.communicator(), context_->exchange, bucket);
  }

  comm::Status update(Update& update) override {
    Trainee& trainee = context_->trainee;
    if (trainee.clip_norm() > 0) {
      if (comm::Status status = measure_norm(update); !status) return status;
    }
    if (has_all_) shard_->forget_the_rest(trainee);
    has_all_ = false;
    shard_->save(trainee);
    const double scale = update.norm_squared ? optim::norm_clip_scale(*update.norm_squared, trainee.clip_norm()) : 1.0;
    shard_->update(trainee, scale);
    updated_to_ = trainee.iteration() + 1;
    if (comm::Status status = hand_out(); !status) return status;
    updated_to_ = kNothing;
    update.gradients = context_->buckets.sparse_views();
    return {};
  }

  comm::Status begin_checkpoint(Trainee& trainee) override {
    return collect_state(communicator(), trainee.updater(), dense_, context_->buckets, current_sources(),
                         context_->group.rank() == 0);
  }
  void end_checkpoint(Trainee& trainee) override {
    // Who still counts as one that has all must.
    if (context_->group.rank() == 0 && !has_all_) shard_->forget_the_rest(trainee);
  }

  /// Of those who are at the step, or made its update without learning that all did, somebody has each part. If nobody
  /// has completed the update that some have made, they take it back.
  comm::Status complete_state(const Context& context, int64_t target, bool counts) override {
    Trainee& trainee = context.trainee;
    if (updated_to_ == target + 1) {
      const auto lock = trainee.lock_weights();
      shard_->put_back(trainee);
      updated_to_ = kNothing;
      has_all_ = false;
    }
    const bool holds = counts && (trainee.iteration() == target || updated_to_ == target);
    ShardSources sources;
    const Holding mine{holds ? std::optional(shard_->place()) : std::nullopt, has_all_};
    comm::Communicator& communicator = context.group.communicator();
    if (comm::Status status = find_sources(communicator, mine, sources); !status) return status;
    for (int part = 0; part < sources.parts; ++part) {
      TW_REQUIRE(sources.source[static_cast<size_t>(part)] >= 0, "part ", part + 1, " of ", sources.parts,
                 " of the optimiser's state is lost: its worker and the ", copies_,
                 " that kept copies ended at the same time. Go on from a checkpoint, or set more copies");
    }
    comm::Status status =
        collect_state(communicator, trainee.updater(), dense_parameters(trainee), context.buckets, sources, true);
    if (status.ok() && holds) has_all_ = true;
    return status;
  }

  /// What a checkpoint, or another run of the trainer, needs afterwards.
  comm::Status last_exchange() override {
    return collect_state(communicator(), context_->trainee.updater(), dense_, context_->buckets, current_sources(),
                         true);
  }

 private:
  static constexpr int64_t kNothing = -1;

  comm::Communicator& communicator() { return context_->group.communicator(); }
  ShardSources current_sources() const { return owners_->sources(context_->group); }

  comm::Status measure_norm(Update& update) {
    double total = 0;
    for (const Piece& piece : own_pieces_) total += optim::norm_squared(piece.gradient);
    // Every worker has all rows of the sparse ones.
    if (context_->group.rank() == 0) total += norm_of_sparse();
    comm::Status status = communicator().all_reduce(&total, 1, DType::kF64);
    update.norm_squared = total;
    return status;
  }

  double norm_of_sparse() {
    double total = 0;
    const std::vector<GradientView> views = context_->buckets.sparse_views();
    for (size_t i = 0; i < views.size(); ++i) total += norm_squared(views[i], context_->buckets.sparse()[i].row_size);
    return total;
  }

  /// Every worker ends with all weights. The buckets, whose gradients have served, carry them.
  comm::Status hand_out() {
    for (const Piece& piece : own_pieces_) {
      const std::span<float> weights = weights_of(context_->trainee, piece);
      std::copy(weights.begin(), weights.end(), piece.gradient.begin());
    }
    for (const std::span<float> values : context_->buckets.all()) {
      if (comm::Status status = owners_->hand_out(communicator(), values); !status) return status;
    }
    for (const Piece& piece : context_->buckets.pieces(1, 0)) {
      const std::span<float> weights = weights_of(context_->trainee, piece);
      std::copy(piece.gradient.begin(), piece.gradient.end(), weights.begin());
    }
    return {};
  }

  std::unique_ptr<OwnerExchange> owners_;
  int copies_;
  std::optional<Context> context_;
  std::vector<DenseParameter> dense_;
  std::optional<Shard> shard_;
  std::vector<Piece> own_pieces_;
  /// The step whose update this worker has made, but of which it does not know yet that all others have.
  int64_t updated_to_ = kNothing;
  /// The optimiser has the state of all parts, as it does when a group has formed, until the first update.
  bool has_all_ = false;
};

/// Along scatter-reduce each worker owns an equal part, along a tree the first one owns everything, and with two levels
/// one worker of each host owns an equal part.
const RegisterUpdatePlace kByOwners(
    {"owners",
     {"scatter-reduce", "tree", "two levels"},
     {{"copies", 1, 0, 1e6, true,
       "others that keep a copy of an owner's optimiser state: so many may be lost at a time"}},
     [](const std::string& ways, const PartOptions& values) -> std::unique_ptr<UpdatePlace> {
       const int copies = static_cast<int>(values.at("copies"));
       return std::make_unique<UpdateByOwners>(topology(ways).make_for_owners(copies), copies);
     }});

}  // namespace

}  // namespace thalweg::sync

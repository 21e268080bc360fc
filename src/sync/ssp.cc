// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Every worker serves a part of the parameters, and may be some steps ahead of the slowest.
#include <cmath>
#include <limits>
#include <optional>

#include "sync/parameter_server.h"
#include "sync/schemes.h"
#include "thalweg/warning.h"

namespace thalweg::sync {
namespace {

class StaleSynchronous : public GroupScheme {
 public:
  StaleSynchronous(std::shared_ptr<comm::Group> group, const SchemeOptions& options)
      : GroupScheme(std::move(group), options),
        staleness_(options.staleness),
        compression_(options.compression),
        patience_(options.patience) {
    TW_REQUIRE(options.staleness >= 0 || options.staleness == kUnbounded, "ssp lets a worker be ", options.staleness,
               " steps ahead: at least 0, or -1 for any number");
  }

  bool exchanges_gradients() const override { return true; }

  void add_gradient(const GradientView& gradient, double weight) override {
    begin_step();
    gradients_->add(gradient, weight);
    weight_ = weight;
  }

  std::vector<GradientView> finish_gradients(StepTotals& totals) override {
    begin_step();
    step_begun_ = false;
    require(server_->failure());
    if (std::isfinite(totals.loss)) {
      server_->push(*gradients_, weight_);
    } else {
      server_->push_bad();
    }
    if (totals.stop) server_->ask_to_stop();
    if (staleness_ != kUnbounded) require(server_->wait_for_others(staleness_, patience_));
    server_->pull(*trainee_);
    // Otherwise each worker knows only of its own samples.
    if (server_->take_bad()) {
      totals.loss = std::nan("");
      totals.of_all = true;
    }
    totals.stop = server_->stop_asked();
    if (server_->admits()) want_change();
    return {};
  }

  bool in_lockstep() const override { return staleness_ == 0 && !change_wanted(); }

  void before_checkpoint(Trainee& /*trainee*/) override {
    if (leads()) require(server_->begin_snapshot());
  }
  void after_checkpoint(Trainee& /*trainee*/) override {
    if (leads()) server_->end_snapshot();
  }

 protected:
  void prepare(Trainee& trainee) override {
    TW_REQUIRE(trainee.updater().elementwise(), "optimizer ", trainee.updater().name(),
               " compares whole parameters, of which each worker would have a part: use the scheme allreduce");
    trainee_ = &trainee;
    make_buckets(trainee);
    server_.emplace(group(), trainee, ParameterServer::Options{staleness_ == 0, compression_}, std::move(unsent_));
    place_ = server_->place();
    step_begun_ = false;
  }

  void release() override {
    if (server_) unsent_ = server_->stop();
    server_.reset();
    // Where all step together, what some could not send belongs to a step that all have left behind.
    if (staleness_ == 0) unsent_ = {};
  }

  bool keeps_own_state() const override { return false; }

  /// Workers differ by some steps, and so do the parts: those of a worker that was lost start afresh.
  comm::Status complete_state(Trainee& trainee, int64_t /*target*/, bool counts) override {
    if (!gradients_) make_buckets(trainee);
    ShardSources sources;
    const std::optional<Shard::Place> held = counts ? place_ : std::nullopt;
    if (comm::Status status = find_sources(communicator(), {held, false}, sources); !status) return status;
    comm::Status status = collect_state(communicator(), trainee.updater(), dense_, *gradients_, sources, true);
    if (!status) return status;
    for (int part = 0; part < sources.parts; ++part) {
      if (sources.source[static_cast<size_t>(part)] >= 0) continue;
      for (const Piece& piece : gradients_->pieces(sources.parts, part)) {
        trainee.updater().forget_part(trainee.updater_index(piece.variable), piece.begin,
                                      piece.begin + piece.gradient.size());
      }
    }
    return {};
  }

  comm::Status last_exchange() override {
    if (comm::Status status = server_->finish(patience_); !status) return status;
    {
      const auto lock = trainee_->lock_weights();
      server_->pull(*trainee_);
      trainee_->variables().touch();
    }
    return collect_state(communicator(), trainee_->updater(), dense_, *gradients_, own_parts(group().size()), true);
  }

 private:
  void make_buckets(const Trainee& trainee) {
    gradients_.emplace(trainee.trained(), std::numeric_limits<size_t>::max());
    dense_ = dense_parameters(trainee);
  }

  void begin_step() {
    if (step_begun_) return;
    gradients_->begin_step();
    weight_ = 0;
    step_begun_ = true;
  }

  int64_t staleness_;
  Compression compression_;
  std::chrono::duration<double> patience_;
  Trainee* trainee_ = nullptr;
  /// Of the step under way, all in one bucket.
  std::optional<GradientBuckets> gradients_;
  std::vector<DenseParameter> dense_;
  std::optional<ParameterServer> server_;
  /// The part that this worker served last.
  std::optional<Shard::Place> place_;
  Outbox unsent_;
  bool step_begun_ = false;
  double weight_ = 0;
};

}  // namespace

std::shared_ptr<Scheme> make_ssp(const SchemeOptions& options, std::shared_ptr<comm::Group> group) {
  return std::make_shared<StaleSynchronous>(std::move(group), options);
}

}  // namespace thalweg::sync

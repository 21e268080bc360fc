// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Every worker serves a part of the parameters, and may be some steps ahead of the slowest.
#include <cmath>
#include <limits>
#include <optional>

#include "sync/group_scheme.h"
#include "sync/parameter_server.h"
#include "sync/parts.h"
#include "thalweg/warning.h"

namespace thalweg::sync {
namespace {

/// Gradients travel to those who serve the parameters, in rounds that need not wait for anybody to compute.
struct StaleParts {
  /// How many steps a worker may be ahead of the slowest one; kUnbounded: any number.
  int64_t staleness = 0;
  /// How long a worker waits for one that is behind, and alive, before it does without it; at the end of the run, how
  /// long for the next step of anybody.
  std::chrono::duration<double> patience{600.0};
  /// A worker goes on only with weights that contain its own last gradient.
  bool own_first = false;
  std::unique_ptr<Compressor> compressor;
  DType row_type = DType::kF32;
};

class StaleSynchronous : public GroupScheme {
 public:
  StaleSynchronous(std::shared_ptr<comm::Group> group, const SchemeOptions& options, StaleParts parts)
      : GroupScheme(std::move(group), options),
        staleness_(parts.staleness),
        patience_(parts.patience),
        own_first_(parts.own_first),
        exchange_(GradientExchange::make(std::move(parts.compressor))),
        sparse_exchange_(parts.row_type) {}

  GradientPath gradient_path() const override { return GradientPath::kHandedOver; }

  void add_gradient(const GradientView& gradient, double weight) override {
    begin_step();
    gradients_->add(gradient, weight);
    weight_ = weight;
  }

  Update exchange(StepTotals& totals) override {
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
    if (own_first_) require(server_->wait_for_own(patience_));
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

  bool after_update() override { return staleness_ == 0 && !change_wanted(); }

  /// By each worker's own count of steps; the servers of all help the one that leads.
  std::optional<Checkpoint> checkpoint(Trainee& trainee) override {
    if (!leads()) return std::nullopt;
    require(server_->begin_snapshot());
    Checkpoint snapshot = trainee.snapshot();
    snapshot.scheme = pack({{}, server_->kept_by_all()});
    server_->end_snapshot();
    return snapshot;
  }

 protected:
  void prepare(Trainee& trainee) override {
    TW_REQUIRE(trainee.updater().elementwise(), "optimizer ", trainee.updater().name(),
               " compares whole parameters, of which each worker would have a part: use the scheme allreduce");
    trainee_ = &trainee;
    make_buckets(trainee);
    exchange_->use(*gradients_, trainee.variables());
    sparse_exchange_.use(*gradients_, trainee.variables());
    step_begun_ = false;
  }

  void begin(Trainee& trainee) override {
    const ParameterServer::Options options{staleness_ == 0, *exchange_, sparse_exchange_};
    server_.emplace(group(), trainee, options, std::move(unsent_));
    place_ = server_->place();
  }

  Holdings holdings() const override { return {Held::kReplicated, Held::kSharded}; }
  void set_own_state(const std::vector<std::vector<NamedTensor>>& states) override {
    clear_codes();
    for (const std::vector<NamedTensor>& state : states) {
      sparse_exchange_.add_state(state);
      if (exchange_->compressor() != nullptr) exchange_->compressor()->add_state(state);
    }
  }
  void was_left_behind() override { clear_codes(); }

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
  void clear_codes() {
    sparse_exchange_.clear_state();
    if (exchange_->compressor() != nullptr) exchange_->compressor()->clear_state();
  }

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
  std::chrono::duration<double> patience_;
  bool own_first_;
  std::unique_ptr<GradientExchange> exchange_;
  SparseExchange sparse_exchange_;
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

Axes describe_served(const Composition& parts, const PartOptions& defaults) {
  TW_REQUIRE(parts.topology == nullptr && parts.place == nullptr && parts.rule == nullptr,
             "a scheme with servers has a topology and a place of update of its own, and no rule");
  const auto staleness = defaults.find("staleness");
  const bool is_unbounded = staleness != defaults.end() && staleness->second == kUnbounded;
  Axes axes{
      Optimisation::kCentral, is_unbounded ? Schedule::kAsynchronous : Schedule::kBounded, Exchange::kAdHoc, true, {}};
  axes.options = {
      {"staleness", 0, kUnbounded, kMany, true, "steps that a worker may be ahead of the slowest; -1: any number"},
      {"patience", 600, 1e-3, kMany, false,
       "seconds that a worker waits for one that is behind before it does without it"},
      {"own_first", 0, 0, 1, true, "1: a worker waits until weights contain its own last gradient"}};
  return axes;
}

std::shared_ptr<Scheme> make_served(const Composition& /*parts*/, const PartOptions& values,
                                    const SchemeOptions& options, std::shared_ptr<comm::Group> group) {
  StaleParts built{static_cast<int64_t>(values.at("staleness")), std::chrono::duration<double>(values.at("patience")),
                   values.at("own_first") > 0, make_compressor(options.compression, options.options),
                   row_type(options.compression)};
  return std::make_shared<StaleSynchronous>(std::move(group), options, std::move(built));
}

const RegisterSchemeKind kServed({"served", describe_served, make_served});

}  // namespace

}  // namespace thalweg::sync

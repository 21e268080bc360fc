// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Every worker serves a part of the parameters, and may be some steps ahead of the slowest (or the slowest are not
// waited for at all).
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "sync/group_scheme.h"
#include "sync/parameter_server.h"
#include "sync/parts.h"
#include "sync/step_codes.h"

namespace thalweg::sync {
namespace {

/// Gradients travel to those who serve the parameters, and nobody waits for others more than the options say.
struct StaleParts {
  /// How many steps a worker may be ahead of the slowest one; kUnbounded: any number.
  int64_t staleness = 0;
  /// How long a worker waits for one that is behind, and alive, before it does without it; at the end of the run, how
  /// long for the next step of anybody.
  std::chrono::duration<double> patience{600.0};
  /// A worker goes on only with weights that contain its own last gradient.
  bool own_first = false;
  /// Of a step of all, the gradients of so many workers, the last ones, are dropped.
  int backup = 0;
  /// Others that keep a copy of a server's part.
  int copies = 0;
  /// Weights that have moved by less than this share are not sent again.
  double filter = 0;
  std::unique_ptr<Compressor> compressor;
  DType row_type = DType::kF32;
  /// Activations and errors travel, of layers of which there are some.
  bool factors = false;
};

class StaleSynchronous : public GroupScheme {
 public:
  StaleSynchronous(std::shared_ptr<comm::Group> group, const SchemeOptions& options, StaleParts parts)
      : GroupScheme(std::move(group), options),
        staleness_(parts.staleness),
        patience_(parts.patience),
        own_first_(parts.own_first),
        backup_(parts.backup),
        copies_(parts.copies),
        filter_(parts.filter),
        form_(parts.factors ? new FactorForm : nullptr),
        codes_(form_ != nullptr ? std::unique_ptr<Compressor>(form_) : std::move(parts.compressor)),
        sparse_exchange_(parts.row_type) {}

  GradientPath gradient_path() const override { return GradientPath::kHandedOver; }

  void add_gradient(const GradientView& gradient, double weight) override {
    begin_step();
    gradients_->add(gradient, weight);
    weight_ = weight;
  }

  bool takes_factors() const override { return form_ != nullptr; }
  void add_factors(const FactoredGradient& gradient, double weight) override {
    begin_step();
    factors_[gradient.variable].append(gradient.left, gradient.right, gradient.rows, static_cast<float>(weight));
    weight_ = weight;
  }

  Update exchange(StepTotals& totals) override {
    begin_step();
    step_begun_ = false;
    require(server_->failure());
    if (std::isfinite(totals.loss)) {
      server_->push(*gradients_, factors_, weight_);
    } else {
      server_->push_bad();
    }
    if (totals.stop) server_->ask_to_stop();
    // With others to spare nobody waits for more than the servers, which wait for as many as they need.
    if (staleness_ != kUnbounded && backup_ == 0) require(server_->wait_for_others(staleness_, patience_));
    if (own_first_) require(server_->wait_for_own(patience_));
    server_->pull(*trainee_);
    // Otherwise each worker knows only of its own samples.
    if (server_->take_bad()) {
      totals.loss = std::nan("");
      totals.of_all = true;
    }
    totals.stop = server_->stop_asked();
    server_->look_for_newcomers();
    if (server_->admits()) want_change();
    return {};
  }

  bool after_update() override { return in_steps() && backup_ == 0 && !change_wanted(); }

  /// By each worker's own count of steps; the servers of all help the one that leads.
  std::optional<Checkpoint> checkpoint(Trainee& trainee) override {
    if (!leads()) return std::nullopt;
    require(server_->begin_snapshot(patience_));
    Checkpoint snapshot = trainee.snapshot();
    snapshot.scheme = pack({{}, server_->kept_by_all()});
    server_->end_snapshot();
    return snapshot;
  }

 protected:
  void prepare(Trainee& trainee) override {
    if (std::exchange(remains_.codes_open, false)) settle_codes(trainee.iteration() > left_at_);
    TW_REQUIRE(trainee.updater().elementwise(), "optimizer ", trainee.updater().name(),
               " compares whole parameters, of which each worker would have a part: use the scheme allreduce");
    require_fitting_momentum(codes_.compressor(), trainee);
    trainee_ = &trainee;
    gradients_.emplace(trainee.trained(), std::numeric_limits<size_t>::max());
    step_begun_ = false;
    // Names and sizes, for what a checkpoint brings of what compressors keep.
    codes_.use(*gradients_, trainee.variables(), group().size());
    sparse_exchange_.use(*gradients_, trainee.variables());
  }

  void begin(Trainee& trainee) override {
    begun_at_ = trainee.iteration();
    const ParameterServer::Options options{staleness_,       in_steps(), std::min(backup_, group().size() - 1),
                                           copies_,          filter_,    codes_,
                                           sparse_exchange_, form_};
    server_.emplace(group(), trainee, options, std::move(remains_.unsent));
  }

  Holdings holdings() const override { return {Held::kReplicated, Held::kSharded}; }
  void set_own_state(const std::vector<std::vector<NamedTensor>>& states) override {
    clear_codes();
    for (const std::vector<NamedTensor>& state : states) {
      sparse_exchange_.add_state(state);
      if (codes_.compressor() != nullptr) codes_.compressor()->add_state(state);
    }
  }
  void was_left_behind() override {
    clear_codes();
    remains_ = {};
  }

  void release() override {
    if (!server_) return;
    remains_ = server_->stop();
    left_at_ = trainee_->iteration();
    server_.reset();
  }

  bool keeps_own_state() const override { return false; }

  /// Workers differ by some steps, and so do the parts: those of a worker that was lost start afresh.
  comm::Status complete_state(Trainee& trainee, int64_t target, bool counts) override {
    const GradientBuckets map(trainee.trained(), std::numeric_limits<size_t>::max());
    const bool has_part = counts && remains_.place.parts > 0;
    if (has_part) go_to_step(trainee, map, target - begun_at_);
    ShardSources sources;
    if (comm::Status status =
            find_sources(communicator(), {has_part ? std::optional(remains_.place) : std::nullopt, false}, sources);
        !status) {
      return status;
    }
    comm::Status status =
        collect_state(communicator(), trainee.updater(), dense_parameters(trainee), map, sources, true);
    // A step of all that has not ended is made again, from the weights of before.
    if (status.ok() && !has_whole_steps()) status = collect_weights(trainee, map, sources);
    if (!status) return status;
    for (int part = 0; part < sources.parts; ++part) {
      if (sources.source[static_cast<size_t>(part)] >= 0) continue;
      for (const Piece& piece : map.pieces(sources.parts, part)) {
        trainee.updater().forget_part(trainee.updater_index(piece.variable), piece.begin,
                                      piece.begin + piece.gradient.size());
      }
    }
    return {};
  }

  comm::Status last_exchange() override {
    if (comm::Status status = server_->finish(patience_); !status) return status;
    const auto lock = trainee_->lock_weights();
    comm::Status status = server_->collect(*trainee_);
    trainee_->variables().touch();
    return status;
  }

 private:
  bool in_steps() const { return staleness_ == 0; }
  bool has_whole_steps() const { return in_steps() && backup_ == 0; }

  /// The optimiser's state of what this worker served and copied becomes that after so many steps of the last epoch:
  /// servers may have made an update that others, for a worker was lost, could not, and which is made again. To be
  /// called as often as the group tries to go on: who comes late may have completed another step.
  void go_to_step(Trainee& trainee, const GradientBuckets& map, int64_t complete) {
    for (const auto& [number, history] : remains_.histories) {
      ServedPart(trainee, map, remains_.place.parts, number).set_slots(history.at(complete));
      if (number != remains_.place.own) continue;
      const int64_t updates = remains_.updates - (history.step > complete ? 1 : 0);
      for (const DenseParameter& parameter : dense_parameters(trainee)) {
        trainee.updater().set_updates(parameter.updater_index, updates);
      }
    }
  }

  void settle_codes(bool is_complete) {
    is_complete ? sparse_exchange_.commit() : sparse_exchange_.roll_back();
    Compressor* compressor = codes_.compressor();
    if (compressor == nullptr) return;
    is_complete ? compressor->commit() : compressor->roll_back();
  }

  void clear_codes() {
    sparse_exchange_.clear_state();
    if (codes_.compressor() != nullptr) codes_.compressor()->clear_state();
  }

  /// The weights that servers have, which nobody may have pulled yet, where their server is still there.
  comm::Status collect_weights(Trainee& trainee, const GradientBuckets& map, const ShardSources& sources) {
    size_t floats = 0;
    for (const Piece& piece : map.pieces(1, 0)) floats += piece.gradient.size();
    std::vector<float> row;
    comm::Status status = collect_row(communicator(), sources, remains_.weights, floats, row);
    if (!status) return status;
    const auto lock = trainee.lock_weights();
    for (int part = 0; part < sources.parts; ++part) {
      if (sources.source[static_cast<size_t>(part)] < 0) continue;
      const float* next = row.data() + comm::part_of(row.size(), sources.parts, part).begin;
      for (const Piece& piece : map.pieces(sources.parts, part)) {
        std::copy_n(next, piece.gradient.size(), weights_of(trainee, piece).begin());
        next += piece.gradient.size();
      }
    }
    trainee.variables().touch();
    return {};
  }

  void begin_step() {
    if (step_begun_) return;
    gradients_->begin_step();
    factors_.clear();
    weight_ = 0;
    step_begun_ = true;
  }

  int64_t staleness_;
  std::chrono::duration<double> patience_;
  bool own_first_;
  int backup_, copies_;
  double filter_;
  /// Belongs to `codes_`; null if gradients travel.
  FactorForm* form_;
  ServedCodes codes_;
  SparseExchange sparse_exchange_;
  Trainee* trainee_ = nullptr;
  /// Of the step under way, all in one bucket.
  std::optional<GradientBuckets> gradients_;
  std::map<size_t, Factors> factors_;
  std::optional<ParameterServer> server_;
  /// Of the last epoch.
  ParameterServer::Remains remains_;
  /// Steps of this worker's when the last epoch began, and when it was left.
  int64_t begun_at_ = 0, left_at_ = 0;
  bool step_begun_ = false;
  double weight_ = 0;
};

void require_no_parts(const Composition& parts) {
  TW_REQUIRE(parts.topology == nullptr && parts.place == nullptr && parts.rule == nullptr,
             "a scheme with servers has a topology and a place of update of its own, and no rule");
}

OptionInfo patience_option() {
  return {"patience", 600,   1e-3,
          kMany,      false, "seconds that a worker waits for one that is behind before it does without it"};
}

Axes describe_served(const Composition& parts, const PartOptions& defaults) {
  require_no_parts(parts);
  const auto staleness = defaults.find("staleness");
  const bool is_unbounded = staleness != defaults.end() && staleness->second == kUnbounded;
  Axes axes;
  axes.schedule = is_unbounded ? Schedule::kAsynchronous : Schedule::kBounded;
  axes.exchange = Exchange::kAdHoc;
  axes.compresses = true;
  axes.options = {
      {"staleness", 0, kUnbounded, kMany, true, "steps that a worker may be ahead of the slowest; -1: any number"},
      patience_option(),
      {"own_first", 0, 0, 1, true, "1: a worker waits until weights contain its own last gradient"},
      {"copies", 0, 0, 1e6, true, "others that keep a copy of a server's part: so many may be lost at a time"},
      {"filter", 0, 0, 1, false, "weights that have moved by less than this share are not sent again; 0: all are"}};
  return axes;
}

StaleParts served_parts(const PartOptions& values, const SchemeOptions& options) {
  return {static_cast<int64_t>(values.at("staleness")),
          std::chrono::duration<double>(values.at("patience")),
          values.at("own_first") > 0,
          0,
          static_cast<int>(values.at("copies")),
          values.at("filter"),
          make_compressor(options.compression, options.options),
          row_type(options.compression)};
}

std::shared_ptr<Scheme> make_served(const Composition& /*parts*/, const PartOptions& values,
                                    const SchemeOptions& options, std::shared_ptr<comm::Group> group) {
  return std::make_shared<StaleSynchronous>(std::move(group), options, served_parts(values, options));
}

const RegisterSchemeKind kServed({"served", describe_served, make_served});

Axes describe_factored(const Composition& parts, const PartOptions& defaults) {
  Axes axes = describe_served(parts, defaults);
  axes.compresses = false;
  return axes;
}

std::shared_ptr<Scheme> make_factored(const Composition& /*parts*/, const PartOptions& values,
                                      const SchemeOptions& options, std::shared_ptr<comm::Group> group) {
  StaleParts built = served_parts(values, options);
  built.factors = true;
  return std::make_shared<StaleSynchronous>(std::move(group), options, std::move(built));
}

const RegisterSchemeKind kFactored({"served activations and errors", describe_factored, make_factored});

Axes describe_with_backup(const Composition& parts, const PartOptions& /*defaults*/) {
  require_no_parts(parts);
  Axes axes;
  axes.exchange = Exchange::kAdHoc;
  axes.compresses = true;
  axes.options = {{"backup", 1, 0, 1e6, true, "workers whose gradients a step does without, those that come last"},
                  patience_option()};
  return axes;
}

std::shared_ptr<Scheme> make_with_backup(const Composition& /*parts*/, const PartOptions& values,
                                         const SchemeOptions& options, std::shared_ptr<comm::Group> group) {
  StaleParts built{0,
                   std::chrono::duration<double>(values.at("patience")),
                   true,
                   static_cast<int>(values.at("backup")),
                   0,
                   0,
                   make_compressor(options.compression, options.options),
                   row_type(options.compression)};
  return std::make_shared<StaleSynchronous>(std::move(group), options, std::move(built));
}

const RegisterSchemeKind kWithBackup({"served with backup workers", describe_with_backup, make_with_backup});

}  // namespace

}  // namespace thalweg::sync

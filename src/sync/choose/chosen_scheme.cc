// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The scheme that becomes another one, by what some steps show that it takes back.
#include <algorithm>

#include "sync/choose/choice.h"
#include "sync/group_scheme.h"
#include "sync/parts.h"
#include "thalweg/comm.h"

namespace thalweg::sync {
namespace {

/// Of what a worker has of the choice, for the others: the epoch in which it was made, counted from 2, or one of these.
constexpr int64_t kFromCheckpoint = 1, kHasMeasured = 0, kHasNothing = -1;
/// A choice, as text, is not longer.
constexpr int64_t kMostText = 1 << 16;
/// With so many steps, and so much time, it is enough.
constexpr size_t kLeastSteps = 3;
constexpr double kEnoughSeconds = 1;

class ChosenScheme : public Scheme {
 public:
  ChosenScheme(std::shared_ptr<comm::Group> group, const SchemeOptions& options, int64_t most_steps)
      : group_(std::move(group)), most_steps_(static_cast<size_t>(most_steps)) {
    if (options.rows != nullptr) rows_ = std::make_shared<GroupRows>(options.rows);
  }

  std::optional<SchemeChoice> choice() const { return choice_; }

  data::Share share() const override { return {group_->rank(), group_->size(), rows_ != nullptr ? rows_->total() : 0}; }
  bool leads() const override { return group_->rank() == 0; }
  void meet(int64_t batch_size) override {
    if (rows_ == nullptr) return;
    rows_->set_batch_size(batch_size);
    for (comm::Status status = rows_->spread(*group_); !status; status = rows_->spread(*group_)) {
      group_->next_epoch(status.failure().text());
    }
  }
  bool start(Trainee& trainee) override {
    begin_state_ = trainee.snapshot();
    if (const std::string text = choice_in(begin_state_->scheme); !text.empty()) {
      choice_ = choice_from(text);
      chosen_in_ = kFromCheckpoint;
    }
    return settle(trainee, "", false);
  }
  bool regroup(Trainee& trainee, const std::string& failure) override {
    return settle(trainee, failure, chosen_ != nullptr || !failure.empty());
  }

  bool measures() const override { return chosen_ == nullptr; }
  std::string take_news() override { return std::exchange(news_, ""); }
  /// As the most that any of those needs that it may become: programs are compiled before it is known which.
  GradientPath gradient_path() const override {
    return chosen_ != nullptr ? chosen_->gradient_path() : GradientPath::kHandedOverInPlace;
  }
  void add_gradient(const GradientView& gradient, double weight) override {
    if (chosen_ != nullptr) return chosen_->add_gradient(gradient, weight);
    clock_.add_gradient(gradient, row_sizes_.at(gradient.variable));
  }
  Update exchange(StepTotals& totals) override {
    if (chosen_ != nullptr) return chosen_->exchange(totals);
    clock_.stop();
    const bool enough = clock_.seconds().size() >= kLeastSteps && clock_.total() >= kEnoughSeconds;
    double sums[] = {totals.samples, totals.stop ? 1.0 : 0.0, enough ? 1.0 : 0.0};
    const comm::Status status = group_->communicator().all_reduce(sums, std::size(sums), DType::kF64);
    if (!status) throw GroupChanged(status.failure().text());
    // What weights would lead to is seen when they are trained.
    totals = {0, sums[0], false, true};
    has_measured_ = sums[1] > 0 || sums[2] == group_->size() || clock_.seconds().size() >= most_steps_;
    return {};
  }
  bool after_update() override {
    if (chosen_ != nullptr) return chosen_->after_update();
    clock_.start();
    return false;
  }
  void report(const TrainState& state) override {
    if (chosen_ != nullptr) chosen_->report(state);
  }

  std::optional<Checkpoint> checkpoint(Trainee& trainee) override {
    if (chosen_ == nullptr) return std::nullopt;
    std::optional<Checkpoint> taken = chosen_->checkpoint(trainee);
    if (taken) add_choice(taken->scheme, to_text(*choice_));
    return taken;
  }
  bool change_wanted() const override { return chosen_ != nullptr ? chosen_->change_wanted() : has_measured_; }
  void finish(Trainee& trainee) override {
    // A run may be over before its first step.
    if (chosen_ == nullptr) {
      adopt({{.name = "allreduce"}, "there was nothing to do"}, group_->epoch());
      take_back(trainee);
      if (const comm::Status status = chosen_->settle_in_epoch(trainee); !status) {
        throw GroupChanged(status.failure().text());
      }
    }
    chosen_->finish(trainee);
  }
  void abandon(const std::string& shared) override {
    if (chosen_ != nullptr) return chosen_->abandon(shared);
    if (!shared.empty()) group_->fail(shared);
    group_->communicator().abort("this worker has left");
  }

 private:
  /// Until an epoch holds long enough for all to train, or to measure, or the run is over. True if the worker that
  /// leads lacks a checkpoint.
  bool settle(Trainee& trainee, std::string failure, bool leave_first) {
    for (bool leave = leave_first;; leave = true) {
      if (leave && !leave_epoch(failure)) return false;
      comm::Status status = rows_ != nullptr ? rows_->spread(*group_) : comm::Status();
      if (status.ok()) status = agree(trainee);
      if (status.ok() && chosen_ != nullptr) status = chosen_->settle_in_epoch(trainee);
      if (status.ok() && chosen_ == nullptr) begin_measuring(trainee);
      if (status.ok()) return chosen_ != nullptr && chosen_->checkpoint_missing();
      failure = status.failure().text();
    }
  }

  bool leave_epoch(const std::string& failure) {
    has_measured_ = false;
    if (chosen_ != nullptr) return chosen_->leave_epoch(failure);
    group_->next_epoch(failure);
    return true;
  }

  /// All workers: the choice that was made last holds; if there is none, and all have measured, one is made.
  comm::Status agree(Trainee& trainee) {
    std::vector<int64_t> all(static_cast<size_t>(group_->size()));
    all[static_cast<size_t>(group_->rank())] = choice_ ? chosen_in_ : has_measured_ ? kHasMeasured : kHasNothing;
    comm::Status status = group_->communicator().all_gather(all.data(), all.size(), DType::kI64);
    if (!status) return status;
    const auto latest = std::max_element(all.begin(), all.end());
    const bool all_have_measured = std::count(all.begin(), all.end(), kHasMeasured) == group_->size();
    if (*latest < kFromCheckpoint && !all_have_measured && group_->size() > 1) return {};
    std::string text;
    int root = 0;
    if (*latest >= kFromCheckpoint) {
      root = static_cast<int>(latest - all.begin());
      if (choice_) text = to_text(*choice_);
    } else {
      Measurements measured;
      if (status = gather(trainee, measured); !status) return status;
      if (leads()) text = to_text(choose_scheme(measured));
    }
    if (status = broadcast(root, text); !status) return status;
    const int64_t made_in =
        *latest >= kFromCheckpoint ? *latest : static_cast<int64_t>(group_->epoch()) + kFromCheckpoint;
    take(trainee, text, made_in);
    return {};
  }

  void take(Trainee& trainee, const std::string& text, int64_t made_in) {
    const bool is_same = choice_ && to_text(*choice_) == text;
    chosen_in_ = made_in;
    if (chosen_ != nullptr && is_same) return;
    adopt(choice_from(text), static_cast<uint64_t>(made_in - kFromCheckpoint));
    take_back(trainee);
  }

  void adopt(SchemeChoice choice, uint64_t epoch) {
    choice_ = std::move(choice);
    chosen_in_ = static_cast<int64_t>(epoch) + kFromCheckpoint;
    chosen_ = std::dynamic_pointer_cast<GroupScheme>(make_scheme(choice_->scheme, group_));
    TW_REQUIRE(chosen_ != nullptr, "the scheme ", choice_->scheme.name, " cannot be chosen");
    if (rows_ != nullptr) chosen_->share_rows(rows_);
    news_ = "scheme auto is " + describe(choice_->scheme) + ": " + choice_->why;
  }

  /// As if nothing had been measured.
  void take_back(Trainee& trainee) {
    if (has_run_) trainee.restore(*begin_state_);
    has_run_ = false;
    begin_state_.reset();
  }

  void begin_measuring(Trainee& trainee) {
    if (has_run_) trainee.restore(*begin_state_);
    has_run_ = true;
    has_measured_ = false;
    clock_ = {};
    row_sizes_.clear();
    for (const TrainedVariable& entry : trainee.trained()) row_sizes_[entry.variable] = entry.row_size;
  }

  /// All workers: what each of them has measured, and how quick their links are.
  comm::Status gather(Trainee& trainee, Measurements& measured) {
    comm::Communicator& communicator = group_->communicator();
    if (comm::Status status = gather_steps(communicator, measured.step_seconds); !status) return status;
    if (group_->size() < 2) return {};
    if (comm::Status status = probe_link(communicator, measured.link); !status) return status;
    measured.forms = measure_forms(trainee);
    std::vector<double> most = {clock_.gradient_bytes()};
    for (const FormCost& form : measured.forms) most.push_back(form.seconds);
    if (comm::Status status = communicator.all_reduce(most.data(), most.size(), DType::kF64, comm::ReduceOp::kMax);
        !status) {
      return status;
    }
    measured.gradient_bytes = most[0];
    for (size_t i = 0; i < measured.forms.size(); ++i) measured.forms[i].seconds = most[i + 1];
    for (const TrainedVariable& entry : trainee.trained()) {
      measured.weight_bytes += static_cast<double>(entry.num_floats * sizeof(float));
    }
    measured.elementwise = trainee.updater().elementwise();
    return {};
  }

  comm::Status gather_steps(comm::Communicator& communicator, std::vector<std::vector<double>>& all) {
    const size_t workers = static_cast<size_t>(communicator.size()), steps = clock_.seconds().size();
    std::vector<double> flat(workers * steps);
    std::copy(clock_.seconds().begin(), clock_.seconds().end(),
              flat.begin() + static_cast<long>(static_cast<size_t>(communicator.rank()) * steps));
    comm::Status status = communicator.all_gather(flat.data(), flat.size(), DType::kF64);
    for (size_t i = 0; i < workers; ++i) {
      const auto begin = flat.begin() + static_cast<long>(i * steps);
      all.emplace_back(begin, begin + static_cast<long>(steps));
    }
    return status;
  }

  comm::Status broadcast(int root, std::string& text) {
    comm::Communicator& communicator = group_->communicator();
    auto size = static_cast<int64_t>(text.size());
    if (comm::Status status = communicator.broadcast(&size, sizeof size, root); !status) return status;
    TW_REQUIRE(size >= 0 && size <= kMostText, "rank ", root, " sent the choice of a scheme of ", size, " bytes");
    text.resize(static_cast<size_t>(size));
    return communicator.broadcast(text.data(), text.size(), root);
  }

  std::shared_ptr<comm::Group> group_;
  size_t most_steps_;
  /// Null if all workers have the same data.
  std::shared_ptr<GroupRows> rows_;
  /// From which the run begins, while it is measured; and whether the trainee has made steps since.
  std::optional<Checkpoint> begin_state_;
  bool has_run_ = false;
  StepClock clock_;
  std::map<size_t, int64_t> row_sizes_;
  /// All have made enough steps in this epoch.
  bool has_measured_ = false;
  std::optional<SchemeChoice> choice_;
  int64_t chosen_in_ = kHasNothing;
  std::shared_ptr<GroupScheme> chosen_;
  std::string news_;
};

Axes describe_measured(const Composition& parts, const PartOptions& /*defaults*/) {
  TW_REQUIRE(parts.topology == nullptr && parts.place == nullptr && parts.rule == nullptr,
             "a scheme that is chosen by a measurement has no parts");
  Axes axes;
  axes.chosen = true;
  axes.options = {{"steps", 20, kLeastSteps, 1e6, true,
                   "steps that are measured, at most; fewer if a second is enough for three of them"}};
  return axes;
}

std::shared_ptr<Scheme> make_measured(const Composition& /*parts*/, const PartOptions& values,
                                      const SchemeOptions& options, std::shared_ptr<comm::Group> group) {
  return std::make_shared<ChosenScheme>(std::move(group), options, static_cast<int64_t>(values.at("steps")));
}

const RegisterSchemeKind kMeasured({"measured", describe_measured, make_measured});

}  // namespace

std::optional<SchemeChoice> choice_of(const Scheme& scheme) {
  const auto* measured = dynamic_cast<const ChosenScheme*>(&scheme);
  return measured != nullptr ? measured->choice() : std::nullopt;
}

}  // namespace thalweg::sync

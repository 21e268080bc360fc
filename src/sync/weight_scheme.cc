// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/weight_scheme.h"

#include <algorithm>

#include "sync/parts.h"

namespace thalweg::sync {
namespace {

/// In place of the meetings of a worker that was not there.
constexpr int64_t kNone = -1;

}  // namespace

WeightScheme::WeightScheme(std::shared_ptr<comm::Group> group, const SchemeOptions& options, Parts parts)
    : GroupScheme(std::move(group), options), period_(parts.period), news_(parts.news), rule_(std::move(parts.rule)) {}

void WeightScheme::prepare(Trainee& trainee) {
  trainee_ = &trainee;
  flat_.emplace(trainee);
  flat_->read(meeting_.now);
  rule_->prepare(*flat_, meeting_.now, given_);
  given_.clear();
  if (rule_->needs_before()) meeting_.before = meeting_.now;
  meetings_ = 0;
}

/// When a worker is lost, others may have completed a meeting of which the rest does not know: they complete it for
/// all.
comm::Status WeightScheme::complete_state(Trainee& trainee, int64_t /*target*/, bool counts) {
  if (!rule_->agrees()) return {};
  std::vector<int64_t> meetings(static_cast<size_t>(group().size()));
  meetings[static_cast<size_t>(group().rank())] = counts ? meetings_ : kNone;
  comm::Status status = communicator().all_gather(meetings.data(), meetings.size(), DType::kI64);
  if (!status) return status;
  const auto most = std::max_element(meetings.begin(), meetings.end());
  const auto is_even = [&](int64_t number) { return number == *most || number == kNone; };
  if (std::all_of(meetings.begin(), meetings.end(), is_even)) return {};
  const int root = static_cast<int>(most - meetings.begin());
  const FlatWeights flat(trainee);
  std::vector<float> values;
  flat.read(values);
  if (status = communicator().broadcast(values.data(), values.size() * sizeof(float), root); !status) return status;
  const bool takes = counts && meetings_ < *most;
  if (takes) {
    const auto lock = trainee.lock_weights();
    flat.write(values);
  }
  for (size_t i = 0; i < rule_->num_common_values(); ++i) {
    const std::vector<std::span<float>> own = rule_->common_values();
    if (counts) values.assign(own[i].begin(), own[i].end());
    if (status = communicator().broadcast(values.data(), values.size() * sizeof(float), root); !status) return status;
    if (takes) std::copy(values.begin(), values.end(), own[i].begin());
  }
  return {};
}

Update WeightScheme::exchange(StepTotals& totals) {
  const int64_t step = trainee_->iteration() + 1;
  meets_now_ = step % period_ == 0;
  tells_now_ = step % news_ == 0;
  // In between each worker knows only of itself, and nobody stops alone.
  if (tells_now_) {
    note(exchange_totals(totals));
  } else {
    totals.stop = false;
  }
  return {};
}

bool WeightScheme::after_update() {
  if (meets_now_ && !noted_failure()) note(meet());
  return tells_now_ && !noted_failure();
}

comm::Status WeightScheme::meet() {
  flat_->read(meeting_.now);
  if (comm::Status status = rule_->meet(communicator(), meeting_); !status) return status;
  flat_->write(meeting_.now);
  if (rule_->needs_before()) meeting_.before = meeting_.now;
  ++meetings_;
  return {};
}

comm::Status WeightScheme::last_exchange() {
  const auto lock = trainee_->lock_weights();
  flat_->read(meeting_.now);
  comm::Status status = rule_->end(communicator(), trainee_->iteration() % period_, meeting_);
  if (status.ok()) flat_->write(meeting_.now);
  return status;
}

namespace {

Axes describe_weights(const Composition& parts, const PartOptions& /*defaults*/) {
  TW_REQUIRE(parts.rule != nullptr && parts.topology == nullptr && parts.place == nullptr,
             "a scheme in which weights travel consists of a rule that brings them together, and of nothing else");
  const WeightRuleInfo& rule = weight_rule(parts.rule);
  Axes axes;
  axes.optimisation = Optimisation::kDecentral;
  axes.exchange = rule.exchange;
  axes.options = {{"period", 10, 1, kMany, true, "steps between two exchanges"}};
  axes.options.insert(axes.options.end(), rule.options.begin(), rule.options.end());
  return axes;
}

std::shared_ptr<Scheme> make_weights(const Composition& parts, const PartOptions& values, const SchemeOptions& options,
                                     std::shared_ptr<comm::Group> group) {
  const auto period = static_cast<int64_t>(values.at("period"));
  const auto news = values.find("news");
  WeightScheme::Parts built{period, news != values.end() ? static_cast<int64_t>(news->second) : period,
                            weight_rule(parts.rule).make(values)};
  return std::make_shared<WeightScheme>(std::move(group), options, std::move(built));
}

const RegisterSchemeKind kWeights({"weights", describe_weights, make_weights});

}  // namespace

}  // namespace thalweg::sync

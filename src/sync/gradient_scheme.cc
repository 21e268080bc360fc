// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/gradient_scheme.h"

#include <algorithm>
#include <cmath>

#include "sync/parts.h"
#include "sync/topology.h"

namespace thalweg::sync {
namespace {

/// Smaller gradients are copied, to be exchanged together.
constexpr size_t kInPlaceBytes = size_t{1} << 20U;

}  // namespace

GradientScheme::GradientScheme(std::shared_ptr<comm::Group> group, const SchemeOptions& options, Parts parts)
    : GroupScheme(std::move(group), options),
      bucket_bytes_(parts.bucket_bytes),
      exchange_(std::move(parts.exchange)),
      sparse_exchange_(parts.row_type),
      copies_(*exchange_, parts.copy_every),
      codes_(*exchange_, sparse_exchange_, copies_),
      place_(std::move(parts.place)),
      in_place_(exchange_->compressor() == nullptr && place_->works_in_place()) {}

void GradientScheme::make_buckets(const Trainee& trainee) {
  buckets_.emplace(trainee.trained(), bucket_bytes_,
                   in_place_ ? std::min(kInPlaceBytes, bucket_bytes_) : GradientBuckets::kNeverInPlace);
}

void GradientScheme::prepare(Trainee& trainee) {
  require_fitting_momentum(exchange_->compressor(), trainee);
  trainee_ = &trainee;
  codes_.settle(trainee);
  make_buckets(trainee);
  exchange_->use(*buckets_, trainee.variables());
  sparse_exchange_.use(*buckets_, trainee.variables());
  copies_.begin_epoch(group(), [this](const std::string& name) { return !continues(name); });
  place_->prepare({group(), trainee, *buckets_, *exchange_});
  thread_.emplace(communicator());
  step_begun_ = false;
}

comm::Status GradientScheme::complete_state(Trainee& trainee, int64_t target, bool counts) {
  // A newcomer has none yet, but what they consist of depends on the parameters alone.
  if (!buckets_) make_buckets(trainee);
  return place_->complete_state({group(), trainee, *buckets_, *exchange_}, target, counts);
}

std::vector<NamedTensor> GradientScheme::own_state() {
  codes_.settle(*trainee_);
  return codes_.state();
}

void GradientScheme::begin_step() {
  if (step_begun_) return;
  buckets_->begin_step();
  codes_.begin_step(*trainee_, share());
  step_begun_ = true;
  tasks_before_ = 0;
  if (!copies_.any()) return;
  thread_->post([this] { return copies_.copy(communicator()); });
  tasks_before_ = 1;
}

void GradientScheme::add_gradient(const GradientView& gradient, double weight) {
  begin_step();
  buckets_->add(gradient, weight / scale());
  post(buckets_->take_complete(false));
}

void GradientScheme::post(const std::vector<std::span<float>>& complete) {
  for (const std::span<float> values : complete) {
    exchange_->begin(values);
    thread_->post([this, values] { return place_->reduce(values); });
  }
}

Update GradientScheme::exchange(StepTotals& totals) {
  begin_step();
  step_begun_ = false;
  post(buckets_->take_complete(true));
  for (SparseRows& rows : buckets_->sparse()) {
    sparse_exchange_.begin(rows);
    thread_->post([this, &rows] { return sparse_exchange_.gather(communicator(), rows); });
  }
  thread_->post([&] { return exchange_totals(totals); });
  const comm::Status followed = place_->follow(*thread_, tasks_before_);
  require(thread_->wait());
  require(followed);
  Update update;
  update.scale = scale();
  if (std::isfinite(totals.loss)) require(place_->update(update));
  return update;
}

namespace {

void check_fit(const Composition& parts) {
  const TopologyInfo& ways = topology(parts.topology);
  const UpdatePlaceInfo& place = Registry<UpdatePlaceInfo>::find(parts.place, "place of update");
  const bool fits = std::count(place.topologies.begin(), place.topologies.end(), ways.name) > 0;
  TW_REQUIRE(fits, "gradients cannot travel along the topology ", ways.name, " to the place of update ", place.name,
             ", which takes: ", join(place.topologies, ", "));
}

Axes describe_gradients(const Composition& parts, const PartOptions& /*defaults*/) {
  TW_REQUIRE(parts.topology != nullptr && parts.place != nullptr && parts.rule == nullptr,
             "a scheme in which gradients travel consists of a topology and a place of update, and of no rule");
  check_fit(parts);
  Axes axes;
  axes.exchange = topology(parts.topology).exchange;
  axes.compresses = true;
  axes.copies_kept = topology(parts.topology).adds_codes;
  axes.options = {{"bucket_bytes", 4 << 20, 1, kMany, true,
                   "gradients are exchanged in pieces of about so many bytes, each as soon as it is complete"}};
  for (const OptionInfo& option : Registry<UpdatePlaceInfo>::find(parts.place, "place of update").options) {
    axes.options.push_back(option);
  }
  return axes;
}

std::shared_ptr<Scheme> make_gradients(const Composition& parts, const PartOptions& values,
                                       const SchemeOptions& options, std::shared_ptr<comm::Group> group) {
  std::unique_ptr<Compressor> compressor = make_compressor(options.compression, options.options);
  // Where only some see what others send, nobody can keep count of what another one keeps.
  const bool adds_codes = topology(parts.topology).adds_codes;
  const double copy_every = adds_codes ? compressor_option(options.compression, "copy_every", options.options) : 0;
  GradientScheme::Parts built{
      static_cast<size_t>(values.at("bucket_bytes")),
      adds_codes ? GradientExchange::make(std::move(compressor))
                 : GradientExchange::make_carried(std::move(compressor)),
      row_type(options.compression),
      Registry<UpdatePlaceInfo>::find(parts.place, "place of update").make(parts.topology, values),
      static_cast<int64_t>(copy_every)};
  return std::make_shared<GradientScheme>(std::move(group), options, std::move(built));
}

const RegisterSchemeKind kGradients({"gradients", describe_gradients, make_gradients});

}  // namespace

}  // namespace thalweg::sync

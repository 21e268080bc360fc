// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <mutex>

#include "model/model_impl.h"
#include "model/weights.h"
#include "thalweg/fit_data.h"
#include "thalweg/input_error.h"
#include "train/optimizer_state.h"
#include "train/progress.h"
#include "train/tensorboard_callback.h"
#include "train/trainer_impl.h"

namespace thalweg {
namespace {

StepOptions step_options(const TrainOptions& options) {
  return {options.precision,  options.math, options.tuning,  options.threads,     options.clip_norm,
          options.accumulate, options.seed, options.profile, options.scheme.get()};
}

constexpr int kMostReaders = 256;
/// A stop is agreed on in a step of all workers, which a slow batch must not make an error.
constexpr std::chrono::seconds kPatienceOfAGroup{30};

data::LoaderOptions reading_options(const TrainOptions& options) {
  return {.depth = options.prefetch, .threads = options.readers, .bad = options.bad_samples};
}

TrainOptions checked(TrainOptions options) {
  const auto require = [](bool holds, const char* what, double value, const char* bound) {
    TW_REQUIRE(holds, "train option ", what, " is ", value, ", must be ", bound);
  };
  // Written so that NaN fails too.
  require(options.learning_rate >= 0, "learning_rate", options.learning_rate, "positive, or 0 for the optimiser's own");
  require(options.clip_norm >= 0, "clip_norm", options.clip_norm, "positive, or 0 for none");
  require(options.clip_value >= 0, "clip_value", options.clip_value, "positive, or 0 for none");
  require(options.epochs >= 0, "epochs", static_cast<double>(options.epochs), "0 or more");
  require(options.batch_size >= 1, "batch_size", static_cast<double>(options.batch_size), "at least 1");
  require(options.accumulate >= 1, "accumulate", options.accumulate, "at least 1");
  require(options.prefetch >= 1, "prefetch", options.prefetch, "at least 1");
  require(options.readers >= 0 && options.readers <= kMostReaders, "readers", options.readers,
          "0 for as many as suit the data, or at most 256");
  require(options.shuffle_window >= 0, "shuffle_window", static_cast<double>(options.shuffle_window),
          "positive, or 0 for all samples");
  require(options.checkpoints.keep >= 1, "checkpoints.keep", options.checkpoints.keep, "at least 1");
  require(options.early_stopping.patience >= 0, "early_stopping.patience",
          static_cast<double>(options.early_stopping.patience), "positive, or 0 for never");
  return options;
}

/// Throws if no metric has that name.
std::string score_to_watch(const TrainOptions& options) {
  if (options.score.empty()) return options.metrics.empty() ? "loss" : options.metrics.front()->name();
  const bool known =
      options.score == "loss" || std::any_of(options.metrics.begin(), options.metrics.end(),
                                             [&](const auto& metric) { return metric->name() == options.score; });
  TW_REQUIRE(known, "score '", options.score, "' is neither \"loss\" nor one of the metrics");
  return options.score;
}

bool higher_is_better(const TrainOptions& options, const std::string& score) {
  for (const auto& metric : options.metrics) {
    if (metric->name() == score) return metric->higher_is_better();
  }
  return false;
}

}  // namespace

void Loss::require_one_each(const Values& outputs, const Values& targets) {
  TW_REQUIRE(outputs.size() == 1 && targets.size() == 1,
             "this loss is made for one output and one target; the model has ", outputs.size(),
             " outputs and the data ", targets.size(), " targets");
}

Trainer::Impl::Impl(Model& trained, const Loss& loss, optim::Optimizer given, TrainOptions given_options,
                    std::atomic<bool>& flag)
    : model(trained),
      optimizer(std::move(given)),
      options(checked(std::move(given_options))),
      stop(flag),
      step(trained, loss, optimizer, step_options(options)),
      evaluator(trained, loss, {options.batch_size, options.threads, reading_options(options)}),
      schedule(options.schedule),
      end(options.end ? *options.end : optim::max_epoch(options.epochs)),
      callbacks(options.callbacks),
      score_name(score_to_watch(options)),
      best(options.early_stopping, higher_is_better(options, score_name)) {
  const double rate = options.learning_rate > 0 ? options.learning_rate : optimizer.default_learning_rate();
  if (schedule == nullptr) schedule = optim::constant(rate);
  if (options.clip_value > 0) optimizer.set_clip_value(options.clip_value);
  if (!options.tensorboard.empty()) leader_callbacks.push_back(make_tensorboard_callback(options.tensorboard));
  if (auto printer = make_progress_printer(options.progress)) leader_callbacks.push_back(printer);
  if (!options.end) state.epochs = options.epochs;
  InferenceOptions predict = model.impl().options;
  if (predict.threads == 0 && options.threads != 0) {
    predict.threads = options.threads;
    model.set_options(predict);
  }
}

void Trainer::Impl::tell(const std::function<void(Callback&)>& event) {
  for (const auto& callback : callbacks) event(*callback);
  if (!leads()) return;
  for (const auto& callback : leader_callbacks) event(*callback);
}

data::BatchSampler Trainer::Impl::make_sampler(int64_t samples) const {
  data::SamplerOptions order{options.batch_size, options.shuffle, options.seed, options.last_batch,
                             options.shuffle_window};
  if (options.scheme != nullptr) order.share = options.scheme->share();
  data::BatchSampler sampler(samples, order);
  sampler.seek(position);
  return sampler;
}

int64_t Trainer::Impl::samples_of(const data::Dataset& train) const {
  const int64_t total = options.scheme != nullptr ? options.scheme->share().total : 0;
  return total > 0 ? total : train.size();
}

void Trainer::Impl::check_data(const data::Dataset& data) const {
  if (options.non_finite == NonFinite::kError) require_no_nan(data, model.graph());
  require_known_classes(data, model.graph(), evaluator.loss());
}

void Trainer::Impl::start(const data::Dataset& train, const data::Dataset* validation) {
  TW_REQUIRE(options.early_stopping.patience == 0 || validation != nullptr,
             "early stopping needs data to validate on: give it to fit");
  if (options.scheme != nullptr) options.scheme->meet(options.batch_size);
  check_data(train);
  if (validation != nullptr) {
    evaluator.require_fit(*validation, options.metrics);
    check_data(*validation);
  }
  skipped = {};
  const int64_t samples = samples_of(train);
  TW_REQUIRE(train_samples == 0 || train_samples == samples, "the run that is resumed had ", train_samples,
             " samples to train on, this dataset has ", samples);
  // For full batches first, also if a resumed run starts with a smaller one: the first program decides how weights lie
  // in memory, and with that the last bits of every sum. In a group it is the same at every worker, however many
  // there are.
  step.prepare(train.allocate(std::min(options.batch_size, samples)));
  if (pending_optimizer) {
    const std::unique_lock<std::shared_mutex> lock(model.impl().weights_mutex);
    write_optimizer(optimizer, *model.impl().variables, *pending_optimizer);
    pending_optimizer.reset();
  }
  train_samples = samples;
  stop_agreed = false;
  if (options.scheme != nullptr) checkpoint_missing = options.scheme->start(*this);
  resumed_scheme.clear();
  // An error may have left batches half way to an update; those are taken again.
  step.discard();
  step.set_runs(runs);
  group_loss = 0;
  group_samples = 0;
  state.batches_per_epoch = make_sampler(train.size()).batches_per_epoch();
  state.progress.iterations_per_epoch = (state.batches_per_epoch + options.accumulate - 1) / options.accumulate;
}

void Trainer::Impl::fit(const data::Dataset& train, const data::Dataset* validation) {
  try {
    run(train, validation);
  } catch (const SharedError& error) {
    if (options.scheme != nullptr) options.scheme->abandon(error.what());
    throw;
  } catch (...) {
    if (options.scheme != nullptr) options.scheme->abandon("");
    throw;
  }
}

void Trainer::Impl::run(const data::Dataset& train, const data::Dataset* validation) {
  start(train, validation);
  tell([&](Callback& callback) { callback.on_start(state); });
  bool over = end(state.progress);
  if (options.scheme != nullptr) {
    join_in();
    over = run_is_over();
  }
  while (!over) over = run_batches(train, validation);
  // Together with all others, whoever of them wanted to stop, and why.
  if (stopping() && !options.checkpoints.directory.empty()) last_checkpoint_of_run();
  if (options.scheme != nullptr) finish_group();
  // After the group's last exchange, which may bring weights.
  if (!stopping() || stopped_early()) restore_best();
  tell_skipped();
  tell([&](Callback& callback) { callback.on_end(state); });
}

bool Trainer::Impl::run_batches(const data::Dataset& train, const data::Dataset* validation) {
  data::LoaderOptions reading = reading_options(options);
  reading.stopping = [this] {
    tell([](Callback& callback) { callback.on_wait(); });
    return stop.load();
  };
  if (options.scheme != nullptr) reading.stop_patience = kPatienceOfAGroup;
  data::Loader loader(train, make_sampler(train.size()), reading);
  try {
    while (!advance(loader, validation)) {
      if (options.scheme == nullptr || !options.scheme->change_wanted()) continue;
      regroup("");
      return run_is_over();
    }
  } catch (const GroupChanged& change) {
    regroup(change.what());
    return run_is_over();
  } catch (const data::WaitStopped&) {
    // Gradients since the last update count for nothing: the run ends there. Others wait for a worker's share.
    if (options.scheme != nullptr) throw;
  }
  return true;
}

bool Trainer::Impl::advance(data::Loader& loader, const data::Dataset* validation) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  data::LoadedBatch loaded;
  loader.next(loaded);
  const bool measures = options.scheme != nullptr && options.scheme->measures();
  // They come again.
  if (!measures) skipped.add(loaded.skipped);
  const bool updated = run_batch(loaded);
  totals.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
  totals.wait_seconds += loaded.wait_seconds;
  // Also a stop waits for the update: between two, gradients exist that no checkpoint keeps.
  if (!updated && !loaded.last_of_epoch) return false;

  complete_step(loaded, updated);
  if (measures) {
    for (const auto& callback : callbacks) callback->on_measured_step(state);
    return false;
  }
  if (updated) tell([&](Callback& callback) { callback.on_step(state); });
  if (updated && options.scheme != nullptr) options.scheme->report(state);
  const bool validated = validation != nullptr && options.validate(state.progress);
  if (validated) validate(*validation);
  if (loaded.last_of_epoch) end_epoch(validated);
  if (!options.checkpoints.directory.empty() && options.checkpoints.when(state.progress)) checkpoint_now_due();
  return run_is_over();
}

bool Trainer::Impl::run_batch(const data::LoadedBatch& loaded) {
  state.learning_rate = schedule->learning_rate(state.progress);
  // Of an empty batch no sample could be read, or it is the share of a group's worker, which goes along with the
  // others.
  const bool has_step = loaded.batch.size() > 0 || options.scheme != nullptr;
  bool updated = has_step && take_step(loaded);
  if (!updated && loaded.last_of_epoch) updated = step.flush(state.learning_rate);
  return updated;
}

bool Trainer::Impl::take_step(const data::LoadedBatch& loaded) {
  try {
    if (options.non_finite == NonFinite::kError) {
      const std::string nan = nan_in(loaded.batch, model.graph());
      if (!nan.empty()) raise_input_error(nan, " of the batch: leave such samples out or fill them");
    }
    const StepResult result = step.run(loaded.batch, {state.learning_rate, loaded.whole_samples, wants_to_stop()});
    count_batch(result);
    totals.exchange_seconds += result.exchange_seconds;
    stop_agreed = result.stop;
    in_lockstep = result.in_lockstep;
    return result.updated;
  } catch (const NonFiniteLoss& error) {
    report_bad_batch(loaded, error);
  } catch (const GroupChanged&) {
    throw;
  } catch (const InputError& error) {
    throw InputError(place_of(loaded) + ": " + error.what());
  } catch (const Error& error) {
    throw Error(place_of(loaded) + ": " + error.what());
  }
  return false;
}

void Trainer::Impl::count_batch(const StepResult& result) {
  const auto samples = static_cast<double>(result.samples);
  totals.loss_sum += result.loss * samples;
  totals.samples += result.samples;
  group_loss += result.loss * samples;
  group_samples += result.samples;
}

std::string Trainer::Impl::place_of(const data::LoadedBatch& loaded) const {
  std::ostringstream where;
  where << "step " << state.progress.iteration + 1 << " (epoch " << loaded.position.epoch + 1 << ", batch "
        << loaded.position.batch + 1 << " of " << state.batches_per_epoch << ")";
  return where.str();
}

void Trainer::Impl::report_bad_batch(const data::LoadedBatch& loaded, const NonFiniteLoss& bad) {
  const std::string what = place_of(loaded) + ": " + bad.what();
  if (options.non_finite != NonFinite::kSkip) {
    const std::string advice =
        "; the weights are those before this batch. A lower learning rate or clip_norm may help; "
        "the option non_finite with \"skip\" leaves such batches out";
    if (bad.of_all()) throw SharedError(what + advice);
    throw Error(what + advice);
  }
  tell([&](Callback& callback) { callback.on_message(what + "; the batch was skipped"); });
}

void Trainer::Impl::complete_step(const data::LoadedBatch& loaded, bool updated) {
  if (updated) {
    // Who leads writes a checkpoint before it takes part in another step.
    if (!leads() && in_lockstep) checkpoints.written = checkpoints.due;
    ++state.progress.iteration;
    if (group_samples > 0) state.progress.loss = group_loss / static_cast<double>(group_samples);
    group_loss = 0;
    group_samples = 0;
  }
  state.progress.epoch_ended = loaded.last_of_epoch;
  state.progress.epoch = loaded.position.epoch + (loaded.last_of_epoch ? 1 : 0);
  position = {loaded.position.epoch, loaded.position.batch + 1};
  if (loaded.last_of_epoch) position = {loaded.position.epoch + 1, 0};
  runs = step.runs();
  state.batch = loaded.position.batch + 1;
  state.epoch_loss = totals.samples > 0 ? totals.loss_sum / static_cast<double>(totals.samples) : 0;
  state.epoch_seconds = totals.seconds;
  if (totals.seconds > 0) {
    state.samples_per_second = static_cast<double>(totals.samples) / totals.seconds;
    state.data_wait_share = totals.wait_seconds / totals.seconds;
    state.exchange_wait_share = totals.exchange_seconds / totals.seconds;
  }
}

Scores Trainer::Impl::measure(const data::Dataset& data, const std::vector<std::shared_ptr<metrics::Metric>>& metrics,
                              const std::atomic<bool>& stop_early) {
  const auto after_batch = [&] { tell([&](Callback& callback) { callback.on_validation_batch(state); }); };
  const auto while_waiting = [&] { tell([](Callback& callback) { callback.on_wait(); }); };
  const Evaluation evaluation = evaluator.run(data, metrics, stop_early, {after_batch, while_waiting});
  skipped.add(evaluation.skipped);
  return evaluation.scores;
}

void Trainer::Impl::tell_skipped() {
  if (skipped.count == 0) return;
  tell([&](Callback& callback) { callback.on_message(to_string(skipped)); });
}

void Trainer::Impl::validate(const data::Dataset& data) {
  state.validation = measure(data, options.metrics, stop);
  state.progress.score = state.validation.at(score_name);
  schedule->observe(state.progress);
  if (best.observe(state.progress.score, state.progress.iteration) && options.early_stopping.patience > 0 &&
      options.early_stopping.restore_best) {
    const std::shared_lock<std::shared_mutex> lock(model.impl().weights_mutex);
    best_weights = read_weights(model.impl());
  }
  tell([&](Callback& callback) { callback.on_validation(state); });
}

void Trainer::Impl::end_epoch(bool validated) {
  history.push_back({state.progress.epoch, state.progress.iteration, state.epoch_loss, state.learning_rate,
                     state.epoch_seconds, state.samples_per_second, state.data_wait_share,
                     validated ? state.validation : Scores()});
  tell([&](Callback& callback) { callback.on_epoch(state); });
  totals = {};
}

void Trainer::Impl::checkpoint_now_due() {
  checkpoints.due = state.progress.iteration;
  if (checkpoints.taken != state.progress.iteration) checkpoint();
}

void Trainer::Impl::checkpoint() {
  const std::optional<Checkpoint> taken = options.scheme != nullptr ? options.scheme->checkpoint(*this) : snapshot();
  checkpoints.taken = state.progress.iteration;
  if (!taken) return;
  const std::string path = write_checkpoint(options.checkpoints.directory, *taken, options.checkpoints.keep);
  checkpoints.written = state.progress.iteration;
  tell([&](Callback& callback) { callback.on_checkpoint(state, path); });
}

void Trainer::Impl::last_checkpoint_of_run() {
  try {
    checkpoint_now_due();
  } catch (const GroupChanged& change) {
    regroup(change.what());
  }
}

void Trainer::Impl::restore_best() {
  // A checkpoint may have brought some although this run does not look for the best.
  if (best_weights.empty() || options.early_stopping.patience == 0) return;
  {
    const std::unique_lock<std::shared_mutex> lock(model.impl().weights_mutex);
    write_weights(model.impl(), best_weights);
  }
  std::ostringstream text;
  text << (best.should_stop() || stopped_early() ? "stopped early; " : "") << "the weights are those of step "
       << best.best_iteration << ", the best by " << score_name << " (" << best.best << ")";
  tell([&](Callback& callback) { callback.on_message(text.str()); });
}

Trainer::Trainer(Model& model, Loss loss, optim::Optimizer optimizer, TrainOptions options)
    : impl_(std::make_unique<Impl>(model, loss, std::move(optimizer), std::move(options), stop_)) {}
Trainer::~Trainer() = default;

const std::vector<EpochRecord>& Trainer::fit(const data::Dataset& train, const data::Dataset* validation) {
  impl_->fit(train, validation);
  return impl_->history;
}

Scores Trainer::evaluate(const data::Dataset& data, const std::vector<std::shared_ptr<metrics::Metric>>& metrics) {
  const std::atomic<bool> never{false};
  // A stop that was asked for before is about the run that it ended.
  return impl_->measure(data, metrics, stop_.load() ? never : stop_);
}

Scores Trainer::evaluate(const data::Dataset& data) { return evaluate(data, impl_->options.metrics); }

double Trainer::score(const data::Dataset& data) {
  const double value = evaluate(data).at(impl_->score_name);
  return higher_is_better(impl_->options, impl_->score_name) ? value : -value;
}

void Trainer::resume(const std::string& path) { impl_->resume(path); }
bool Trainer::can_resume(const std::string& path) { return !find_checkpoint(path).empty(); }
std::string Trainer::save_checkpoint(const std::string& directory) {
  TW_REQUIRE(impl_->train_samples > 0 && !impl_->pending_optimizer, "there is nothing to save before fit");
  return write_checkpoint(directory, impl_->snapshot(), impl_->options.checkpoints.keep);
}
const TrainState& Trainer::state() const { return impl_->state; }
const std::vector<EpochRecord>& Trainer::history() const { return impl_->history; }
const data::SkippedSamples& Trainer::skipped() const { return impl_->skipped; }
optim::Optimizer& Trainer::optimizer() { return impl_->optimizer; }
std::string Trainer::explain() const { return impl_->step.explain(); }

}  // namespace thalweg

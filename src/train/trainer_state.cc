// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// What a checkpoint keeps of a trainer besides weights and optimiser slots.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>

#include "model/weights.h"
#include "train/optimizer_state.h"
#include "train/trainer_impl.h"

namespace thalweg {
namespace {

using Json = nlohmann::json;

constexpr int kFormat = 1;

/// JSON has no NaN: null stands for it.
double number(const Json& json) { return json.is_null() ? std::nan("") : json.get<double>(); }

Scores scores_from(const Json& json) {
  Scores scores;
  for (const auto& [name, value] : json.items()) scores[name] = number(value);
  return scores;
}

Json to_json(const EpochRecord& record) {
  return {{"epoch", record.epoch},
          {"iteration", record.iteration},
          {"loss", record.loss},
          {"learning_rate", record.learning_rate},
          {"seconds", record.seconds},
          {"samples_per_second", record.samples_per_second},
          {"data_wait_share", record.data_wait_share},
          {"validation", record.validation}};
}

EpochRecord record_from(const Json& json) {
  return {
      json.at("epoch").get<int64_t>(),    json.at("iteration").get<int64_t>(), number(json.at("loss")),
      number(json.at("learning_rate")),   number(json.at("seconds")),          number(json.at("samples_per_second")),
      number(json.at("data_wait_share")), scores_from(json.at("validation"))};
}

/// The settings without which the run would not go on as it began.
Json settings_of(const TrainOptions& options, const std::string& optimizer) {
  return {{"optimizer", optimizer},
          {"batch_size", options.batch_size},
          {"shuffle", options.shuffle},
          {"shuffle_window", options.shuffle_window},
          {"drop_last", options.last_batch == data::LastBatch::kDrop},
          {"seed", options.seed},
          {"accumulate", options.accumulate},
          {"precision", name_of(options.precision)}};
}

}  // namespace

std::string Trainer::Impl::to_json() const {
  Json records = Json::array();
  for (const EpochRecord& record : history) records.push_back(thalweg::to_json(record));
  const Json json = {
      {"format", kFormat},
      {"settings", settings_of(options, optimizer.name())},
      {"samples", train_samples},
      {"iteration", state.progress.iteration},
      {"epoch", state.progress.epoch},
      {"epoch_ended", state.progress.epoch_ended},
      {"loss", state.progress.loss},
      {"score", state.progress.score},
      {"validation", state.validation},
      {"position", {{"epoch", position.epoch}, {"batch", position.batch}}},
      {"runs", runs},
      {"checkpoint_due", checkpoints.due},
      {"stop", stop_agreed},
      {"schedule", schedule->state()},
      {"best", {{"score", best.best}, {"iteration", best.best_iteration}, {"without_gain", best.without_gain}}},
      {"totals",
       {{"loss_sum", totals.loss_sum},
        {"samples", totals.samples},
        {"seconds", totals.seconds},
        {"wait_seconds", totals.wait_seconds}}},
      {"history", records}};
  return json.dump();
}

void Trainer::Impl::check_settings(const Json& json) const {
  const auto format = json.at("format").get<int>();
  TW_REQUIRE(format == kFormat, "its format is ", format, ", this program reads ", kFormat);
  const Json mine = settings_of(options, optimizer.name());
  const Json& theirs = json.at("settings");
  std::string differences;
  for (const auto& [name, value] : mine.items()) {
    if (theirs.at(name) != value) {
      differences += "\n  " + name + ": " + theirs.at(name).dump() + " there, " + value.dump() + " here";
    }
  }
  TW_REQUIRE(differences.empty(), "the run it belongs to had other settings:", differences);
}

void Trainer::Impl::from_json(const Json& json) {
  // Everything is read before anything is changed: a field that is missing throws.
  TrainState read = state;
  read.progress.iteration = json.at("iteration").get<int64_t>();
  read.progress.epoch = json.at("epoch").get<int64_t>();
  read.progress.epoch_ended = json.at("epoch_ended").get<bool>();
  read.progress.loss = number(json.at("loss"));
  read.progress.score = number(json.at("score"));
  read.validation = scores_from(json.at("validation"));
  const data::SamplerPosition read_position{json.at("position").at("epoch").get<int64_t>(),
                                            json.at("position").at("batch").get<int64_t>()};
  const auto read_runs = json.at("runs").get<uint64_t>();
  const auto read_samples = json.at("samples").get<int64_t>();
  const auto schedule_state = json.at("schedule").get<std::vector<double>>();
  BestScore read_best = best;
  read_best.best = number(json.at("best").at("score"));
  read_best.best_iteration = json.at("best").at("iteration").get<int64_t>();
  read_best.without_gain = json.at("best").at("without_gain").get<int64_t>();
  const Json& t = json.at("totals");
  const EpochTotals read_totals{number(t.at("loss_sum")), t.at("samples").get<int64_t>(), number(t.at("seconds")),
                                number(t.at("wait_seconds")), 0};
  std::vector<EpochRecord> read_history;
  for (const Json& record : json.at("history")) read_history.push_back(record_from(record));

  schedule->restore(schedule_state);
  state = read;
  position = read_position;
  runs = read_runs;
  train_samples = read_samples;
  best = read_best;
  totals = read_totals;
  history = std::move(read_history);
}

Checkpoint Trainer::Impl::snapshot() {
  const std::shared_lock<std::shared_mutex> lock(model.impl().weights_mutex);
  Checkpoint result;
  result.iteration = state.progress.iteration;
  result.weights = read_weights(model.impl());
  result.optimizer = read_optimizer(optimizer, *model.impl().variables);
  result.best_weights = best_weights;
  result.scheme = resumed_scheme;
  result.trainer_json = to_json();
  return result;
}

void Trainer::Impl::restore(const Checkpoint& given) {
  const std::unique_lock<std::shared_mutex> lock(model.impl().weights_mutex);
  try {
    const Json json = Json::parse(given.trainer_json);
    check_settings(json);
    write_optimizer(optimizer, *model.impl().variables, given.optimizer, "the state that another worker sent");
    from_json(json);
    checkpoints.due = json.at("checkpoint_due").get<int64_t>();
    checkpoints.written = std::min(checkpoints.written, state.progress.iteration);
    stop_agreed = json.at("stop").get<bool>();
  } catch (const Json::exception& error) {
    raise("the state that another worker sent cannot be read: ", error.what());
  }
  write_weights(model.impl(), given.weights);
  best_weights = given.best_weights;
}

void Trainer::Impl::resume(const std::string& path) {
  const std::string folder = find_checkpoint(path);
  TW_REQUIRE(!folder.empty(), path, ": holds no complete checkpoint");
  const auto file = [&](const char* name) { return (std::filesystem::path(folder) / name).string(); };
  const SafetensorsFile weights_file(file(kWeightsFile));
  const SafetensorsFile optimizer_file(file(kOptimizerFile));
  const std::string text = trainer_json(optimizer_file);
  const std::unique_lock<std::shared_mutex> lock(model.impl().weights_mutex);
  const std::vector<NamedTensor> weights = matching_weights(model.impl(), weights_file, true);
  std::vector<NamedTensor> read_best;
  if (std::filesystem::exists(file(kBestFile))) {
    read_best = matching_weights(model.impl(), SafetensorsFile(file(kBestFile)), true);
  }
  std::vector<NamedTensor> read_scheme;
  if (std::filesystem::exists(file(kSchemeFile))) {
    const SafetensorsFile scheme_file(file(kSchemeFile));
    for (const std::string& name : scheme_file.names()) read_scheme.push_back({name, scheme_file.load(name)});
  }
  try {
    const Json json = Json::parse(text);
    check_settings(json);
    from_json(json);
    checkpoints = {state.progress.iteration, state.progress.iteration, state.progress.iteration};
  } catch (const Json::exception& error) {
    raise(optimizer_file.path(), ": the trainer's state in it cannot be read: ", error.what());
  } catch (const Error& error) {
    raise(optimizer_file.path(), ": ", error.what());
  }
  write_weights(model.impl(), weights);
  best_weights = std::move(read_best);
  resumed_scheme = std::move(read_scheme);
  pending_optimizer = optimizer_file;
}

}  // namespace thalweg

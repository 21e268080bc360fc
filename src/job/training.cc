// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "job/training.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/warning.h"
#include "job/schedule.h"
#include "optim/groups.h"
#include "thalweg/fit_data.h"
#include "thalweg/losses.h"
#include "thalweg/passes.h"

namespace thalweg::job {

std::string expand_home(const std::string& path) {
  const char* home = std::getenv("HOME");
  return path.rfind("~/", 0) == 0 && home != nullptr ? home + path.substr(1) : path;
}

namespace {

Loss read_loss(Settings& file) {
  const std::string name = file.text("train.loss", kUsualLoss);
  return about(file, "train.loss", [&] { return Loss(losses::by_name(name)); });
}

/// "hdfs" of "hdfs:///x"; empty if it is a plain path.
std::string uri_scheme(const std::string& path) {
  const size_t colon = path.find(":/");
  if (colon == std::string::npos || colon < 2) return "";
  for (const char c : path.substr(0, colon)) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '+' && c != '-' && c != '.') return "";
  }
  return path.substr(0, colon);
}

/// As a path of this machine's, which is all that the engine writes to; empty if the key is not there.
std::string read_folder(Settings& file, const std::string& key) {
  const std::string given = file.text(key, "");
  const std::string scheme = uri_scheme(given);
  if (scheme.empty()) return expand_home(given);
  if (scheme == "file") {
    const std::string path = given.substr(scheme.size() + 1);
    return path.starts_with("///") ? path.substr(2) : path;
  }
  file.reject(key,
              " is '" + given + "': " + scheme +
                  " cannot be written to here. Give the path of a folder that all workers have in common, such as one"
                  " on a shared disk that is mounted on every machine");
}

EarlyStopping read_early_stopping(Settings& file) {
  EarlyStopping stopping;
  stopping.patience = file.whole("train.patience", stopping.patience, 0);
  stopping.min_change = file.number("train.min_change", stopping.min_change);
  stopping.restore_best = file.flag("train.restore_best", stopping.restore_best);
  return stopping;
}

/// Their names, of metrics that there are.
std::vector<std::string> read_metrics(Settings& file) {
  std::vector<std::string> names = file.texts("train.metric", {"accuracy"});
  std::erase(names, "");
  for (const std::string& name : names) about(file, "train.metric", [&] { return metrics::make_metric(name); });
  return names;
}

TrainOptions read_options(Settings& file) {
  TrainOptions options;
  options.epochs = file.whole("train.epochs", 1, 1);
  options.batch_size = file.whole("train.batch_size", 32, 1);
  options.seed = static_cast<uint64_t>(file.whole("train.seed", 0, 0));
  options.shuffle = file.flag("train.shuffle", true);
  options.shuffle_window = file.whole("train.shuffle_window", 0, 0);
  options.threads = static_cast<int>(file.whole("train.threads", 0, 0));
  options.learning_rate = file.number("train.learning_rate", 0);
  options.accumulate = static_cast<int>(file.whole("train.accumulate", options.accumulate, 1));
  options.clip_norm = file.number("train.clip_norm", 0);
  options.clip_value = file.number("train.clip_value", 0);
  options.prefetch = static_cast<int>(file.whole("train.prefetch", options.prefetch, 1));
  options.readers = static_cast<int>(file.whole("train.readers", 0, 0));
  options.bad_samples = static_cast<data::BadSample>(file.choice("train.bad_samples", {"fail", "skip"}, 0));
  options.last_batch = static_cast<data::LastBatch>(file.choice("train.last_batch", {"keep", "drop"}, 0));
  options.math = static_cast<Math>(file.choice("train.math", {"fast", "strict"}, 0));
  options.non_finite = static_cast<NonFinite>(file.choice("train.non_finite", {"error", "skip"}, 0));
  const std::string precision = file.text("train.precision", "f32");
  options.precision = about(file, "train.precision", [&] { return precision_from_name(precision); });
  options.score = file.text("train.score", "");
  options.early_stopping = read_early_stopping(file);
  options.checkpoints.directory = read_folder(file, "output.checkpoints");
  options.checkpoints.keep = static_cast<int>(file.whole("output.keep", 3, 1));
  options.tensorboard = read_folder(file, "output.tensorboard");
  return options;
}

/// The place of the name among those of all.
template <typename Named>
std::string read_name(Settings& file, const std::string& key, const std::vector<Named>& all) {
  std::vector<std::string> names;
  for (const Named& one : all) names.push_back(one.name);
  return names[file.choice(key, names, 0)];
}

sync::SchemeOptions read_scheme(Settings& file) {
  sync::SchemeOptions options;
  options.name = read_name(file, "scheme.name", sync::presets());
  options.compression = read_name(file, "scheme.compression", sync::compressors());
  if (options.compression != "none") about(file, "scheme.compression", [&] { sync::check_scheme(options); });
  for (const auto& [name, value] : file.other_numbers("scheme")) {
    options.options[name] = value;
    about(file, "scheme." + name, [&] { sync::check_scheme(options); });
  }
  return options;
}

}  // namespace

nlohmann::ordered_json to_json(const EpochRecord& record) {
  nlohmann::ordered_json entry = {{"epoch", record.epoch},     {"steps", record.iteration},
                                  {"loss", record.loss},       {"learning_rate", record.learning_rate},
                                  {"seconds", record.seconds}, {"samples_per_second", record.samples_per_second}};
  for (const auto& [name, value] : record.validation) entry["validation_" + name] = value;
  return entry;
}

nlohmann::ordered_json to_json(const data::SkippedSamples& skipped) {
  return {{"count", skipped.count}, {"reasons", skipped.reasons}};
}

nlohmann::ordered_json choice_json(const Scheme* scheme) {
  const std::optional<sync::SchemeChoice> choice = scheme != nullptr ? sync::choice_of(*scheme) : std::nullopt;
  if (!choice) return nullptr;
  return {{"name", choice->scheme.name},
          {"compression", choice->scheme.compression},
          {"options", choice->scheme.options},
          {"why", choice->why}};
}

void fit_together(Graph& graph, Training& training, const Settings& settings) {
  for (const std::string& name : training.metrics) {
    training.options.metrics.push_back(
        metrics::fitting_metric(name, training.loss_name, graph.outputs().at(0)->shape()));
  }
  for (const std::string& pattern : training.freeze) {
    bool found = false;
    std::vector<std::string> names;
    for (Value* parameter : graph.parameters()) {
      names.push_back(parameter->name());
      if (!optim::matches_pattern(pattern, parameter->name())) continue;
      parameter->set_trainable(false);
      found = true;
    }
    if (!found) {
      settings.reject("train.freeze",
                      ": no parameter matches '" + pattern + "'; nearest: " + nearest_names(pattern, names));
    }
  }
}

void check_without_validation(const Settings& settings, const Training& training, const std::string& validation) {
  if (training.options.early_stopping.patience > 0) {
    settings.reject("train.patience", ": there are no data on which to see whether the model gets better: give " +
                                          validation + ", or leave it out");
  }
  if (settings.has("train.metric") && !training.metrics.empty()) {
    warn_once("train.metric (" + join(training.metrics, ", ") + ") is not measured: give " + validation +
              ", the data to measure it on");
  }
}

void require_classes(const Graph& graph, const Training& training, const Settings& settings, int64_t classes) {
  const Shape& output = graph.outputs().at(0)->shape();
  const int64_t scores = output.rank() > 1 ? output[1] : kFree;
  if (scores == kFree || scores == classes) return;
  const std::vector<AcceptedTarget> targets = accepted_targets(graph, training.loss);
  const auto is_class_number = [](const AcceptedTarget& target) {
    return target.type == TensorType{DType::kI64, Shape()};
  };
  if (std::none_of(targets.begin(), targets.end(), is_class_number)) return;
  if (settings.has("model.file")) {
    settings.reject("model.file", ": the model tells " + std::to_string(scores) + " classes apart, the data have " +
                                      std::to_string(classes));
  }
  settings.reject("model.classes", " is " + std::to_string(scores) + ", the data have " + std::to_string(classes) +
                                       " classes: leave it out, and the model has as many");
}

Training read_training(Settings& settings) {
  Training training{read_loss(settings),
                    settings.text("train.loss", kUsualLoss),
                    read_metrics(settings),
                    settings.text("optimizer.name", kUsualOptimizer),
                    settings.other_numbers("optimizer"),
                    read_options(settings),
                    read_scheme(settings),
                    settings.texts("train.freeze", {}),
                    settings.flag("group.tls", false)};
  const optim::Optimizer optimizer = about(settings, "optimizer.name", [&] {
    return optim::make_optimizer(training.optimizer, training.optimizer_options);
  });
  const double rate = training.options.learning_rate;
  training.options.schedule =
      read_schedule(settings, rate > 0 ? rate : optimizer.default_learning_rate(), training.options.epochs);
  return training;
}

}  // namespace thalweg::job

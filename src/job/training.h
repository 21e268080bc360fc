// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "job/settings.h"
#include "thalweg/sync.h"
#include "thalweg/train.h"

namespace thalweg::job {

/// How a job wants its model trained: the sections train, optimizer, schedule, scheme and group, and what output says
/// of checkpoints.
struct Training {
  Loss loss;
  std::string loss_name;
  /// Their names; `fit_together` makes them.
  std::vector<std::string> metrics;
  std::string optimizer;
  std::map<std::string, double> optimizer_options;
  TrainOptions options;
  sync::SchemeOptions scheme;
  /// Patterns of the names of parameters that keep their values ('*': any characters, '?': one).
  std::vector<std::string> freeze;
  /// Whether the group must encrypt what goes over the network (comm::GroupOptions::tls).
  bool tls = false;
};

/// Throws SettingsError naming the key that is wrong.
Training read_training(Settings& settings);

/// Brings together a model and how it is to be trained, which is of these settings: marks the parameters that are to be
/// frozen, and makes the metrics that fit what the model puts out. Throws SettingsError if a pattern matches no
/// parameter.
void fit_together(Graph& graph, Training& training, const Settings& settings);

/// Throws SettingsError if the loss takes class numbers and the model does not have as many classes as the data: one
/// that has more would be saved with scores for classes that have no names.
void require_classes(const Graph& graph, const Training& training, const Settings& settings, int64_t classes);

/// For jobs without data to validate on, which the key `validation` would name: throws SettingsError if training should
/// stop by what is measured on them, and warns if a metric was asked for that is never measured.
void check_without_validation(const Settings& settings, const Training& training, const std::string& validation);

/// As `thalweg train --json` prints it.
nlohmann::ordered_json to_json(const EpochRecord& record);
nlohmann::ordered_json to_json(const data::SkippedSamples& skipped);
/// What the scheme "auto" has chosen; null for others, and without a group.
nlohmann::ordered_json choice_json(const Scheme* scheme);

/// A leading ~ stands for the home directory, as in a shell.
std::string expand_home(const std::string& path);

/// What somebody says about the value of a key, with the place of the key in front.
template <typename Make>
auto about(const Settings& settings, const std::string& key, const Make& make) {
  try {
    return make();
  } catch (const SettingsError&) {
    throw;
  } catch (const Error& error) {
    settings.reject(key, std::string(": ") + error.what());
  }
}

}  // namespace thalweg::job

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "job/start_model.h"
#include "job/training.h"

namespace thalweg::cli {

/// What a job file asks for, with the data opened and the model built.
struct TrainJob {
  std::shared_ptr<data::Dataset> train;
  /// Null: none.
  std::shared_ptr<data::Dataset> validation;
  job::StartModel start;
  job::Training training;
  comm::LaunchedOptions group;
  bool resume = true;
  /// Where the trained model goes; empty: nowhere.
  std::string model_path;
  /// What its file says of the data, besides what that of the start model says.
  data::ModelMetadata metadata = {};
  /// Options of a model of the zoo that follow from the data, unless the file gives them.
  Attributes model_defaults = {};
};

/// Throws job::SettingsError naming the key that is wrong, also if the file has keys that mean nothing.
TrainJob read_job(job::Settings& file);

}  // namespace thalweg::cli

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "job/training.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "capi/guard.h"
#include "capi/result.h"
#include "capi/rows.h"
#include "job/start_model.h"
#include "sync/group_progress.h"
#include "thalweg/c_training.h"
#include "thalweg/data/metadata.h"
#include "train/scheme.h"

using json = nlohmann::ordered_json;
using thalweg::capi::guarded;
namespace comm = thalweg::comm;
namespace job = thalweg::job;

namespace {

/// What a worker trains, and how.
struct Task {
  job::StartModel start;
  job::Training training;
};

Task task_from(const tw_training_options& options) {
  job::Settings file = job::Settings::from_text(options.settings != nullptr ? options.settings : "", "settings");
  Task task{job::start_model(options.model, file), job::read_training(file)};
  file.other_attributes("model");
  file.finish();
  job::fit_together(*task.start.graph, task.training, file);
  task.training.options.progress = thalweg::ShowProgress::kNone;
  return task;
}

std::optional<comm::GroupOptions> group_from(const tw_training_options& given, bool tls) {
  if (given.rendezvous == nullptr) return std::nullopt;
  TW_REQUIRE(given.secret != nullptr, "the secret is a null pointer");
  TW_REQUIRE(given.seat >= 0, "a worker cannot have seat ", given.seat);
  comm::GroupOptions options;
  options.rendezvous = given.rendezvous;
  options.secret = given.secret;
  options.tls = tls;
  if (given.name != nullptr) options.name = given.name;
  options.seat = given.seat;
  options.attempt = given.attempt;
  return options;
}

}  // namespace

struct tw_training {
  explicit tw_training(const tw_training_options& options) : tw_training(task_from(options), options) {}
  tw_training(Task task, const tw_training_options& options)
      : training(std::move(task.training)),
        membership(group_from(options, training.tls)),
        start(std::move(task.start)),
        model(std::move(start.graph)) {
    if (membership) membership->cancelled = cancelled;
  }

  /// Throws SeatTaken or JobEnded if there is nothing to do.
  void join() {
    if (membership && group == nullptr) group = comm::Group::reserve(*membership);
  }
  void run(tw_rows& rows);
  void fit(tw_rows& rows);
  json report() const;

  job::Training training;
  std::optional<comm::GroupOptions> membership;
  /// Its graph is `model`'s.
  job::StartModel start;
  thalweg::Model model;
  /// Until the run is over; null: none.
  std::shared_ptr<thalweg::data::RowStore> validation;
  std::shared_ptr<comm::Group> group;
  std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
  /// By this worker.
  int64_t rows_taken = 0;
  /// Guards the trainer's coming and going against tw_training_cancel.
  std::mutex mutex;
  std::unique_ptr<thalweg::Trainer> trainer;
};

void tw_training::run(tw_rows& rows) {
  join();
  rows.store->arrange(cancelled.get());
  if (validation != nullptr) validation->arrange(cancelled.get());
  if (group != nullptr) {
    group->next_epoch();
    training.scheme.rows = rows.store;
    training.options.scheme = thalweg::sync::make_scheme(training.scheme, group);
  }
  try {
    fit(rows);
  } catch (const std::exception& error) {
    if (group != nullptr && !cancelled->load()) group->fail(error.what());
    throw;
  }
  TW_REQUIRE(!cancelled->load(), "the training was cancelled");
}

void tw_training::fit(tw_rows& rows) {
  rows_taken = rows.store->num_rows();
  {
    const std::lock_guard<std::mutex> lock(mutex);
    trainer = std::make_unique<thalweg::Trainer>(
        model, training.loss, thalweg::optim::make_optimizer(training.optimizer, training.optimizer_options),
        training.options);
    trainer->request_stop(cancelled->load());
  }
  const std::string& checkpoints = training.options.checkpoints.directory;
  if (!checkpoints.empty() && thalweg::Trainer::can_resume(checkpoints)) trainer->resume(checkpoints);
  trainer->fit(*rows.store, validation.get());
  validation.reset();
}

json tw_training::report() const {
  TW_REQUIRE(trainer != nullptr, "there is nothing to report before a run");
  json epochs = json::array();
  for (const thalweg::EpochRecord& record : trainer->history()) epochs.push_back(job::to_json(record));
  return {{"scheme", job::choice_json(training.options.scheme.get())},
          {"steps", trainer->state().progress.iteration},
          {"epochs", epochs},
          {"skipped", job::to_json(trainer->skipped())},
          {"tls", membership && membership->tls},
          {"workers", group != nullptr ? group->size() : 1},
          {"rank", group != nullptr ? group->rank() : 0},
          {"rows", group != nullptr ? training.options.scheme->share().total : rows_taken}};
}

namespace {

/// As `guarded`, for what may find that another worker does the work, or that there is none left.
template <typename Body>
tw_status guarded_at_seat(Body&& body) noexcept {
  bool superfluous = false;
  const tw_status status = guarded([&] {
    try {
      body();
    } catch (const comm::SeatTaken&) {
      superfluous = true;
      throw;
    } catch (const comm::JobEnded&) {
      superfluous = true;
      throw;
    }
  });
  return superfluous ? TW_SEAT_TAKEN : status;
}

}  // namespace

tw_status tw_training_create(const tw_training_options* options, tw_training** training) {
  return guarded([&] {
    TW_REQUIRE(options != nullptr && options->model != nullptr && training != nullptr,
               "the options, the model or the training is a null pointer");
    *training = new tw_training(*options);
  });
}

tw_status tw_training_join(tw_training* training) {
  return guarded_at_seat([&] {
    TW_REQUIRE(training != nullptr, "the training is a null pointer");
    training->join();
  });
}

tw_status tw_training_reading(tw_training* training, int64_t rows) {
  return guarded([&] {
    TW_REQUIRE(training != nullptr, "the training is a null pointer");
    if (training->group != nullptr) training->group->set_status(thalweg::sync::reading_status(rows));
  });
}

tw_status tw_training_fail(tw_training* training, const char* why) {
  return guarded([&] {
    TW_REQUIRE(training != nullptr && why != nullptr, "the training or the reason is a null pointer");
    if (training->group != nullptr) training->group->fail(why);
  });
}

tw_status tw_training_validate_on(tw_training* training, tw_rows* rows) {
  return guarded([&] {
    TW_REQUIRE(training != nullptr && rows != nullptr, "the training or the rows are a null pointer");
    training->validation = rows->store;
  });
}

tw_status tw_training_run(tw_training* training, tw_rows* rows) {
  return guarded_at_seat([&] {
    TW_REQUIRE(training != nullptr && rows != nullptr, "the training or the rows are a null pointer");
    TW_REQUIRE(training->trainer == nullptr, "this training has been run before");
    training->run(*rows);
  });
}

tw_status tw_training_gives(tw_training* training, int32_t* gives) {
  return guarded([&] {
    TW_REQUIRE(training != nullptr && gives != nullptr, "the training or the answer is a null pointer");
    TW_REQUIRE(training->trainer != nullptr, "there is nothing to give before a run");
    *gives = training->group == nullptr || training->group->hands_over() ? 1 : 0;
  });
}

tw_status tw_training_gave(tw_training* training) {
  return guarded([&] {
    TW_REQUIRE(training != nullptr, "the training is a null pointer");
    if (training->group != nullptr) training->group->handed_over();
  });
}

void tw_training_cancel(tw_training* training) {
  training->cancelled->store(true);
  const std::lock_guard<std::mutex> lock(training->mutex);
  if (training->trainer != nullptr) training->trainer->request_stop();
}

tw_status tw_training_report(const tw_training* training, tw_result** result) {
  return guarded([&] {
    TW_REQUIRE(training != nullptr && result != nullptr, "the training or the result is a null pointer");
    *result = new tw_result{{}, training->report().dump()};
  });
}

namespace {

/// Of a trained model's file: what its caller says, and what the model that the training began with says besides.
std::map<std::string, std::string> properties_of(const tw_training& training, const char* metadata) {
  std::map<std::string, std::string> properties;
  if (metadata != nullptr) {
    try {
      properties = json::parse(metadata).get<std::map<std::string, std::string>>();
    } catch (const json::exception& error) {
      thalweg::raise("the metadata are no JSON object of texts: ", error.what());
    }
  }
  properties = job::with_metadata_of(training.start, std::move(properties));
  // Reading leaves out what is random in the preprocessing: a model that was trained with chance predicts without.
  for (auto& [name, value] : thalweg::data::to_properties(thalweg::data::metadata_from(properties))) {
    properties[name] = value;
  }
  return properties;
}

}  // namespace

tw_status tw_training_save(const tw_training* training, const char* path, const char* metadata) {
  return guarded([&] {
    TW_REQUIRE(training != nullptr && path != nullptr, "the training or the path is a null pointer");
    training->model.save(path, properties_of(*training, metadata));
  });
}

tw_status tw_training_export(const tw_training* training, const char* metadata, tw_result** result) {
  return guarded([&] {
    TW_REQUIRE(training != nullptr && result != nullptr, "the training or the result is a null pointer");
    *result = new tw_result{{training->model.to_onnx(properties_of(*training, metadata))}, ""};
  });
}

void tw_training_free(tw_training* training) { delete training; }

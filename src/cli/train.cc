// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/train.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "cli/command.h"
#include "cli/train_job.h"
#include "cli/trial/worker.h"

namespace thalweg::cli {
namespace {

std::atomic<Trainer*> trainer_to_stop{nullptr};
void request_stop(int /*signal*/) {
  if (Trainer* trainer = trainer_to_stop.load()) trainer->request_stop();
}

/// Lets Ctrl-C, and a launcher, end the run after the step under way.
class StopOnSignals {
 public:
  explicit StopOnSignals(Trainer& trainer) {
    trainer_to_stop.store(&trainer);
    std::signal(SIGINT, request_stop);
    std::signal(SIGTERM, request_stop);
  }
  ~StopOnSignals() {
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    trainer_to_stop.store(nullptr);
  }
  StopOnSignals(const StopOnSignals&) = delete;
  StopOnSignals& operator=(const StopOnSignals&) = delete;
};

class Train : public Command {
 public:
  CommandDescription describe() const override {
    return {"train", "train a model as a file says, alone or as a worker of a group",
            "thalweg launch -n 2 -- thalweg train digits.toml --set train.epochs=3"};
  }

  void add_options(CLI::App& options) override {
    options
        .add_option("job", path_,
                    "TOML file with the sections data, model, train, optimizer, schedule, scheme, group, output")
        ->required();
    options.add_option("--set", overrides_, "section.key=value in place of what the file says; may be repeated")
        ->allow_extra_args(false);
    trial_.add_options(options);
  }

  int run() override {
    try {
      if (trial_.is_one()) trial_.begin();
      return train();
    } catch (const comm::JobEnded&) {
      // As for a worker that was started again when the others were nearly done: there is nothing to complain of.
      std::fprintf(stderr, "thalweg: train: the job has ended without this worker\n");
      return kDone;
    }
  }

 private:
  int train() {
    if (std::filesystem::is_directory(path_)) {
      wrong_usage("'", path_, "' is a folder, not a job file: give a TOML file, as examples/digits.toml");
    }
    job::Settings file = job::Settings::from_file(path_, overrides_);
    TrainJob job = read_job(file);
    // Before the training, for a class name or token that the file cannot hold is an error.
    const std::map<std::string, std::string> properties =
        job::with_metadata_of(job.start, data::to_properties(job.metadata));
    TrainOptions& options = job.training.options;
    if (json() && !shows_progress()) options.progress = ShowProgress::kNone;
    const std::shared_ptr<comm::Group> group = comm::join_launched(job.group);
    if (group != nullptr) options.scheme = sync::make_scheme(job.training.scheme, group);
    if (trial_.is_one()) trial_.change(options, group);
    Model model(std::move(job.start.graph));
    Trainer trainer(model, job.training.loss,
                    optim::make_optimizer(job.training.optimizer, job.training.optimizer_options), options);
    if (trial_.is_one()) {
      trial_.train(trainer, job);
      return kDone;
    }
    if (job.resume) resume(trainer, options.checkpoints.directory);
    const int64_t steps_before = trainer.state().progress.iteration;
    fit(trainer, job);
    const bool leads = group == nullptr || group->rank() == 0;
    if (leads && !job.model_path.empty()) model.save(job.model_path, properties);
    if (leads) report(trainer, steps_before, job);
    return kDone;
  }

  /// From the newest checkpoint in the folder, if there is one.
  static void resume(Trainer& trainer, const std::string& checkpoints) {
    if (checkpoints.empty() || !Trainer::can_resume(checkpoints)) return;
    try {
      trainer.resume(checkpoints);
    } catch (const Error& error) {
      raise(error.what(), "\nGive output.checkpoints another folder, or begin anew with output.resume = false");
    }
  }

  static void fit(Trainer& trainer, const TrainJob& job) {
    const StopOnSignals stop(trainer);
    try {
      trainer.fit(*job.train, job.validation.get());
    } catch (const data::SampleError& error) {
      if (job.training.options.bad_samples == data::BadSample::kSkip) throw;
      raise(error.what(), "; train.bad_samples = \"skip\" leaves out what cannot be read");
    }
  }

  void report(const Trainer& trainer, int64_t steps_before, const TrainJob& job) const {
    Json epochs = Json::array();
    for (const EpochRecord& record : trainer.history()) epochs.push_back(job::to_json(record));
    Json result = {{"steps", trainer.state().progress.iteration}, {"steps_before", steps_before},
                   {"stopped", trainer.stop_requested()},         {"model", job.model_path},
                   {"skipped", job::to_json(trainer.skipped())},  {"epochs", epochs}};
    const Json choice = job::choice_json(job.training.options.scheme.get());
    if (!choice.is_null()) result["scheme"] = choice;
    print(result, text_of);
  }

  static std::string text_of(const Json& result) {
    const auto steps = result["steps"].get<int64_t>(), before = result["steps_before"].get<int64_t>();
    std::string text = std::to_string(steps) + " steps";
    if (before > 0 && before < steps) text += " (" + std::to_string(before) + " of them before, by the checkpoint)";
    if (before > 0 && before == steps) {
      text += " (none of them now: the checkpoint has all; more train.epochs go on, output.resume = false begins anew)";
    }
    if (result["stopped"].get<bool>()) text += " (stopped)";
    const auto skipped = result["skipped"]["count"].get<int64_t>();
    if (skipped > 0) text += "  " + std::to_string(skipped) + " samples left out";
    if (!result["epochs"].empty()) {
      for (const auto& [name, value] : result["epochs"].back().items()) {
        if (name != "loss" && name.rfind("validation_", 0) != 0) continue;
        char number[32];
        std::snprintf(number, sizeof number, "%.4f", value.get<double>());
        text += "  " + name + " " + number;
      }
    }
    const auto model = result["model"].get<std::string>();
    return text + (model.empty() ? "" : "  model in " + model) + "\n";
  }

  std::string path_;
  std::vector<std::string> overrides_;
  TrialWorker trial_;
};

const RegisterCommand kTrain([] { return std::make_unique<Train>(); });

}  // namespace
}  // namespace thalweg::cli

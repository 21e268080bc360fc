// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/train.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "cli/command.h"
#include "cli/train_job.h"

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
        .add_option("job", path_, "TOML file with the sections data, model, train, optimizer, scheme, group, output")
        ->required();
    options.add_option("--set", overrides_, "section.key=value in place of what the file says; may be repeated")
        ->allow_extra_args(false);
  }

  int run() override {
    try {
      return train();
    } catch (const comm::JobEnded&) {
      // As for a worker that was started again when the others were nearly done: there is nothing to complain of.
      std::fprintf(stderr, "thalweg: train: the job has ended without this worker\n");
      return kDone;
    }
  }

 private:
  int train() const {
    if (std::filesystem::is_directory(path_)) {
      wrong_usage("'", path_, "' is a folder, not a job file: give a TOML file, as examples/digits.toml");
    }
    job::Settings file = job::Settings::from_file(path_, overrides_);
    TrainJob job = read_job(file);
    // Before the training, for a class name or token that the file cannot hold is an error.
    const std::map<std::string, std::string> properties = data::to_properties(job.metadata);
    TrainOptions& options = job.training.options;
    if (json() && !shows_progress()) options.progress = ShowProgress::kNone;
    const std::shared_ptr<comm::Group> group = comm::join_launched(job.group);
    if (group != nullptr) options.scheme = sync::make_scheme(job.training.scheme, group);
    Model model(std::move(job.graph));
    Trainer trainer(model, job.training.loss,
                    optim::make_optimizer(job.training.optimizer, job.training.optimizer_options), options);
    const std::string& checkpoints = options.checkpoints.directory;
    if (job.resume && !checkpoints.empty() && Trainer::can_resume(checkpoints)) trainer.resume(checkpoints);
    {
      const StopOnSignals stop(trainer);
      trainer.fit(*job.train, job.validation.get());
    }
    const bool leads = group == nullptr || group->rank() == 0;
    if (leads && !job.model_path.empty()) model.save(job.model_path, properties);
    if (leads) report(trainer, job.model_path);
    return kDone;
  }

  void report(const Trainer& trainer, const std::string& model_path) const {
    Json epochs = Json::array();
    for (const EpochRecord& record : trainer.history()) epochs.push_back(job::to_json(record));
    const Json result = {{"steps", trainer.state().progress.iteration},
                         {"stopped", trainer.stop_requested()},
                         {"model", model_path},
                         {"skipped", job::to_json(trainer.skipped())},
                         {"epochs", epochs}};
    print(result, text_of);
  }

  static std::string text_of(const Json& result) {
    std::string text = std::to_string(result["steps"].get<int64_t>()) + " steps";
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
};

const RegisterCommand kTrain([] { return std::make_unique<Train>(); });

}  // namespace
}  // namespace thalweg::cli

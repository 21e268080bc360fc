// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/status_line.h"
#include "base/text.h"
#include "cli/caught_signals.h"
#include "cli/command.h"
#include "cli/output_paths.h"
#include "cli/seconds_option.h"
#include "cli/text_table.h"
#include "cli/trial/network.h"
#include "cli/trial/page.h"
#include "cli/trial/worker.h"

namespace thalweg::cli {
namespace {

/// Of each scheme, if nothing is said: without a target, and with one.
constexpr double kUsualSeconds = 10, kUsualSecondsToTarget = 60;

/// A folder that is gone with this object.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "thalweg-trial-XXXXXX").string();
    TW_REQUIRE(::mkdtemp(name.data()) != nullptr, "cannot make a folder ", name);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class Trial : public Command {
 public:
  CommandDescription describe() const override {
    return {"trial", "train a job with every scheme on this machine, and compare them",
            "thalweg trial job.toml --schemes allreduce,localsgd,ssp --workers 4 --rate 100mbit --page trial.html"};
  }

  void add_options(CLI::App& options) override {
    options.add_option("job", plan_.job, "TOML file, as of thalweg train")->required();
    options.add_option("--schemes", schemes_, "those to compare, with commas between them, or all [all]")
        ->delimiter(',')
        ->allow_extra_args(false);
    options.add_option("-n,--workers", plan_.workers, "workers of each group [4]")->check(CLI::Range(2, 64));
    options.add_option("--seconds", seconds_, "for which each scheme trains, at most [10; with --target-loss 60]")
        ->check(seconds_of_at_least(1));
    options.add_option("--target-loss", plan_.target_loss, "loss of the training at which a scheme is done");
    options.add_option("--rate", rate_, "of the link of every worker, as 100mbit (takes root's rights)");
    options
        .add_option("--slow", slow_,
                    "WORKER:TIMES, as 1:4: it takes so many times as long as it needs; may be repeated")
        ->delimiter(',')
        ->allow_extra_args(false);
    options.add_flag("--kill", plan_.kill, "kill a worker of each group when a third of the time is over");
    options.add_option("--set", overrides_, "section.key=value in place of what the file says; may be repeated")
        ->allow_extra_args(false);
    options
        .add_option("--score-samples", plan_.score_samples, "samples on which the result is scored, at most [10000]")
        ->check(CLI::PositiveNumber);
    options.add_option("--page", page_, "HTML file to write the results to");
    // In place of the flag that all commands have: there is a table to be seen meanwhile.
    options.remove_option(options.get_option("--json"));
    options.add_option("--json", json_file_, "JSON file to write the results to; without a name, to stdout")
        ->expected(0, 1);
    options.add_option("--start-timeout", plan_.start_seconds, "seconds that workers may take to begin [120]")
        ->check(seconds_of_at_least(1));
    options_ = &options;
  }

  int run() override {
    prepare();
    catch_signals();
    const Folder folder;
    std::unique_ptr<ShapedNetwork> network;
    if (!rate_.empty()) network = make_network();
    try {
      for (size_t i = 0; i < report_.schemes.size(); ++i) try_one(i, folder.path());
    } catch (const TrialInterrupted& interruption) {
      say(interruption.what());
      interrupted_ = true;
      for (SchemeSummary& scheme : report_.schemes) {
        if (scheme.points.empty() && scheme.skipped.empty()) scheme.skipped = "the trial was stopped before";
      }
    }
    set_target();
    write_files();
    const bool failed = std::any_of(report_.schemes.begin(), report_.schemes.end(),
                                    [](const SchemeSummary& scheme) { return !scheme.failure.empty(); });
    const bool none = std::none_of(report_.schemes.begin(), report_.schemes.end(),
                                   [](const SchemeSummary& scheme) { return scheme.ran(); });
    return interrupted_ || failed || none ? kFailed : kDone;
  }

 private:
  bool json_to_stdout() const { return json_file_.empty() && options_->get_option("--json")->count() > 0; }

  void prepare() {
    plan_.seconds = seconds_ > 0 ? seconds_ : plan_.target_loss ? kUsualSecondsToTarget : kUsualSeconds;
    plan_.overrides = overrides_;
    for (const std::string& override : trial_overrides()) plan_.overrides.push_back(override);
    for (const std::string& slow : slow_) read_slowness(slow);
    if (!rate_.empty()) bits_ = bits_per_second(rate_);
    if (!page_.empty()) require_writable_file(page_);
    if (!json_file_.empty()) require_writable_file(json_file_);
    choose_schemes();
    check_job();
    describe_setting();
  }

  void read_slowness(const std::string& text) {
    int worker = -1, end = 0;
    double times = 0;
    const bool read =
        std::sscanf(text.c_str(), "%d:%lf%n", &worker, &times, &end) == 2 && end == static_cast<int>(text.size());
    if (!read || worker < 0 || worker >= plan_.workers || !(times >= 1 && times <= 1000)) {
      wrong_usage("--slow is ", printable(text), ", must be WORKER:TIMES, as 1:4: a worker from 0 to ",
                  plan_.workers - 1, ", and 1 to 1000");
    }
    plan_.slowness[worker] = times;
  }

  void choose_schemes() {
    std::vector<std::string> names, chosen;
    for (const sync::Preset& preset : sync::presets()) names.push_back(preset.name);
    if (schemes_.empty()) schemes_ = {"all"};
    for (const std::string& name : schemes_) {
      const bool all = name == "all";
      if (!all && std::find(names.begin(), names.end(), name) == names.end()) {
        wrong_usage("there is no scheme ", printable(name), "; nearest: ", nearest_names(name, names),
                    " ('thalweg schemes' lists all)");
      }
      for (const std::string& one : all ? names : std::vector<std::string>{name}) {
        if (std::find(chosen.begin(), chosen.end(), one) == chosen.end()) chosen.push_back(one);
      }
    }
    for (const std::string& name : chosen) {
      report_.schemes.emplace_back();
      report_.schemes.back().scheme = name;
    }
  }

  /// What every worker would find wrong is told once, and at once.
  void check_job() {
    for (SchemeSummary& scheme : report_.schemes) scheme.skipped = why_not(scheme.scheme);
    const auto first = std::find_if(report_.schemes.begin(), report_.schemes.end(),
                                    [](const SchemeSummary& scheme) { return scheme.skipped.empty(); });
    if (first == report_.schemes.end()) wrong_usage("no scheme is left: ", report_.schemes[0].skipped);
    job::Settings file = settings_for(first->scheme);
    const TrainJob job = read_job(file);
    if (job.training.options.batch_size < plan_.workers) {
      wrong_usage("train.batch_size is ", job.training.options.batch_size, ", less than a sample for each of ",
                  plan_.workers, " workers");
    }
  }

  job::Settings settings_for(const std::string& scheme) const {
    std::vector<std::string> overrides = plan_.overrides;
    overrides.push_back("scheme.name=" + scheme);
    return job::Settings::from_file(plan_.job, overrides);
  }

  /// Why the scheme has no place in this trial; empty if it has one.
  std::string why_not(const std::string& scheme) const {
    for (const sync::Preset& preset : sync::presets()) {
      if (scheme != preset.name || plan_.workers >= preset.least_workers) continue;
      return "it takes at least " + std::to_string(preset.least_workers) + " workers: " + preset.why_as_many;
    }
    job::Settings file = settings_for(scheme);
    try {
      job::read_training(file);
    } catch (const job::SettingsError& error) {
      return error.what();
    }
    return "";
  }

  void describe_setting() {
    report_.setting = {{"job", plan_.job}, {"workers", std::to_string(plan_.workers)}};
    if (plan_.target_loss) report_.setting.emplace_back("to a loss of", format("%g", *plan_.target_loss));
    report_.setting.emplace_back(plan_.target_loss ? "or for at most" : "each for", format("%g s", plan_.seconds));
    for (const auto& [worker, times] : plan_.slowness) {
      report_.setting.emplace_back("worker " + std::to_string(worker), format("%g times as slow", times));
    }
    if (plan_.kill) report_.setting.emplace_back("a worker is killed after", format("%.1f s", plan_.seconds / 3));
  }

  std::unique_ptr<ShapedNetwork> make_network() {
    std::string reason = why_no_networks();
    if (reason.empty()) {
      try {
        auto network = std::make_unique<ShapedNetwork>(plan_.workers, bits_);
        plan_.networks = network->ends();
        plan_.address = ShapedNetwork::address();
        report_.setting.emplace_back("links", rate_);
        return network;
      } catch (const Error& error) {
        reason = error.what();
      }
    }
    say("links are not limited to " + rate_ + ": " + reason);
    report_.setting.emplace_back("links", "as they are, not " + rate_ + ": " + reason);
    return nullptr;
  }

  void try_one(size_t index, const std::filesystem::path& folder) {
    SchemeSummary& scheme = report_.schemes[index];
    const std::string place = std::to_string(index + 1) + "/" + std::to_string(report_.schemes.size()) + " ";
    if (!scheme.skipped.empty()) return status_.line(place + scheme.scheme + " is left out: " + scheme.skipped);
    SchemeRun run(plan_, scheme.scheme, folder / scheme.scheme);
    const SchemeTraces traces = run.run([&](const SchemeTraces& now) {
      if (status_.due()) status_.update(place + progress_of(summarise(now, plan_.seconds)));
    });
    scheme = summarise(traces, plan_.seconds);
    if (!scheme.failure.empty()) return status_.line(place + scheme.scheme + " failed: " + scheme.failure);
    status_.line(place + progress_of(scheme));
    // Traces of many schemes are not to fill a disk.
    std::error_code ignored;
    std::filesystem::remove_all(folder / scheme.scheme, ignored);
  }

  static std::string progress_of(const SchemeSummary& scheme) {
    if (scheme.points.empty()) return scheme.scheme + "  starting";
    return scheme.scheme + format("  %.1f s", scheme.seconds) + "  step " + std::to_string(scheme.steps) +
           format("  loss %.4f", scheme.loss) + format("  %.0f samples/s", scheme.samples_per_second) +
           format("  %.1f MB sent", scheme.sent_bytes / 1e6);
  }

  void set_target() {
    report_.target_was_given = plan_.target_loss.has_value();
    report_.target = plan_.target_loss ? plan_.target_loss : median_loss(report_.schemes);
    if (!report_.target) return;
    for (SchemeSummary& scheme : report_.schemes) scheme.seconds_to_target = seconds_to(scheme, *report_.target);
  }

  void write_files() {
    const std::string json = json_of().dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
    if (!json_file_.empty()) write_file(json_file_, json);
    if (!page_.empty()) write_file(page_, page_of(report_));
    write_stdout(json_to_stdout() ? json : text_of());
  }

  static void write_file(const std::string& path, const std::string& text) {
    AtomicFile file(path);
    file.write(text.data(), text.size());
    file.commit();
  }

  Json json_of() const {
    Json json = {{"done", !interrupted_}, {"setting", Json::object()}};
    for (const auto& [name, value] : report_.setting) json["setting"][name] = value;
    json["workers"] = plan_.workers;
    json["target_loss"] = report_.target ? Json(*report_.target) : Json(nullptr);
    json["schemes"] = Json::array();
    for (const SchemeSummary& scheme : report_.schemes) json["schemes"].push_back(to_json(scheme));
    return json;
  }

  std::string text_of() const {
    const TrialTable rows = table_of(report_);
    std::string text;
    if (!rows.rows.empty()) {
      TextTable table(rows.headers);
      for (const auto& row : rows.rows) table.add_row(row);
      text = table.to_string();
    }
    for (const SchemeSummary& scheme : report_.schemes) {
      if (scheme.chosen.is_object()) text += scheme.scheme + " became " + text_of_choice(scheme.chosen) + "\n";
      if (!scheme.skipped.empty()) text += scheme.scheme + " was left out: " + scheme.skipped + "\n";
      if (!scheme.failure.empty()) text += scheme.scheme + " failed: " + scheme.failure + "\n";
    }
    if (!json_file_.empty()) text += "numbers in " + json_file_ + "\n";
    if (!page_.empty()) text += "page in " + page_ + "\n";
    return text;
  }

  static std::string text_of_choice(const Json& chosen) {
    std::string text = chosen.value("name", "");
    if (chosen.value("compression", "none") != "none") text += " with " + chosen.value("compression", "");
    for (const auto& [name, value] : chosen["options"].items()) text += ", " + name + " " + format("%g", value);
    return text + ": " + chosen.value("why", "");
  }

  void say(const std::string& text) { status_.line("thalweg: trial: " + text); }

  TrialPlan plan_;
  double seconds_ = 0, bits_ = 0;
  std::vector<std::string> schemes_, slow_, overrides_;
  std::string rate_, page_, json_file_;
  const CLI::App* options_ = nullptr;
  TrialReport report_;
  bool interrupted_ = false;
  StatusLine status_{stderr, ::isatty(STDERR_FILENO) == 1};
};

const RegisterCommand kTrial([] { return std::make_unique<Trial>(); });

}  // namespace
}  // namespace thalweg::cli

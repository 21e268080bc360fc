// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Trials of two schemes on what looks like digits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <regex>

#include "cli/ended.h"
#include "cli/fake_digits.h"
#include "cli/program.h"

namespace thalweg::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

/// Of a document, what is opened and not closed, or closed and not open, first; empty if nothing is.
std::string unbalanced_tag(std::string document) {
  document = std::regex_replace(document, std::regex("<!DOCTYPE html>"), "");
  const std::regex tag("<(/?)([a-z0-9]+)((?:\\s+[a-zA-Z0-9-]+=\"[^\"<>]*\")*)\\s*(/?)>");
  std::vector<std::string> open;
  std::string::const_iterator at = document.begin();
  for (std::sregex_iterator next(document.begin(), document.end(), tag), end; next != end; ++next) {
    const std::string between(at, document.cbegin() + next->position());
    const bool is_code = !open.empty() && (open.back() == "style" || open.back() == "script");
    if (!is_code && between.find_first_of("<>") != std::string::npos) return between;
    at = document.cbegin() + next->position() + next->length();
    if ((*next)[4].length() > 0) continue;
    if ((*next)[1].length() == 0) {
      open.push_back((*next)[2]);
    } else if (open.empty() || open.back() != (*next)[2]) {
      return next->str();
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back();
}

class Trial : public ::testing::Test {
 protected:
  void SetUp() override {
    write_fake_digits(folder_);
    std::filesystem::create_directory(folder_ / "temporary");
  }
  std::vector<std::string> words(std::vector<std::string> options) const {
    std::vector<std::string> all = {"trial", TW_SOURCE_DIR "/examples/digits.toml", "--set",
                                    "data.path=" + folder_.path().string()};
    all.insert(all.end(), options.begin(), options.end());
    return all;
  }
  std::vector<std::string> environment() const { return {"TMPDIR=" + folder_ / "temporary"}; }
  ProcessResult trial(const std::vector<std::string>& options) const {
    return run_program(words(options), environment());
  }
  /// What it wrote to a file.
  json results() const { return json::parse(read_bytes(folder_ / "results.json")); }
  std::string results_file() const { return folder_ / "results.json"; }
  void expect_nothing_left() const {
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "temporary"), {}), 0);
  }
  /// The processes of a trial that is under way, when so many have begun to train.
  std::vector<pid_t> workers(size_t count) const {
    std::vector<pid_t> found;
    EXPECT_TRUE(eventually([&] {
      found.clear();
      std::error_code gone;
      for (std::filesystem::recursive_directory_iterator entry(folder_ / "temporary", gone), end; entry != end;
           entry.increment(gone)) {
        const std::string name = entry->path().filename().string();
        if (name.starts_with("worker-") && std::filesystem::file_size(entry->path(), gone) > 0) {
          found.push_back(std::stoi(name.substr(name.rfind('-') + 1)));
        }
      }
      return found.size() >= count;
    }));
    return found;
  }

  const TemporaryDirectory folder_;
};

const json& scheme_of(const json& results, const std::string& name) {
  for (const json& scheme : results["schemes"]) {
    if (scheme["scheme"] == name) return scheme;
  }
  throw std::runtime_error("no scheme " + name);
}

void expect_trained(const json& scheme) {
  EXPECT_GT(scheme["steps"], 0) << scheme;
  EXPECT_GT(scheme["samples"], 0);
  EXPECT_GT(scheme["samples_per_second"], 0);
  EXPECT_GT(scheme["sent_bytes"], 0);
  EXPECT_GT(scheme["points"].size(), 1U);
  EXPECT_TRUE(scheme["scores"].contains("accuracy"));
  double shares = 0;
  for (const auto& [name, share] : scheme["shares"].items()) shares += share.get<double>();
  EXPECT_NEAR(shares, 1, 0.01);
}

TEST_F(Trial, ComparesSchemesInATableAFileAndAPage) {
  const ProcessResult run = trial({"--schemes", "allreduce,localsgd", "--workers", "2", "--seconds", "2", "--json",
                                   results_file(), "--page", folder_ / "page.html"});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  const json report = results();
  EXPECT_EQ(report["schemes"].size(), 2U);
  for (const char* name : {"allreduce", "localsgd"}) expect_trained(scheme_of(report, name));
  // Whose workers meet once in several steps sends less for each.
  const auto bytes_of_a_step = [&](const char* name) {
    const json& scheme = scheme_of(report, name);
    return scheme["sent_bytes"].get<double>() / scheme["steps"].get<double>();
  };
  EXPECT_LT(bytes_of_a_step("localsgd"), bytes_of_a_step("allreduce"));
  EXPECT_THAT(run.out, HasSubstr("samples/s"));
  EXPECT_THAT(run.out, HasSubstr("\nlocalsgd"));
  EXPECT_THAT(run.error, HasSubstr("2/2 localsgd"));
  const std::string page = read_bytes(folder_ / "page.html");
  EXPECT_EQ(unbalanced_tag(page), "");
  for (const char* part : {"Loss over time", "Loss over bytes sent", "Loss over samples", "Where the time went"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  for (const char* other : {"http:", "https:", "src=", "@import", "url("}) EXPECT_THAT(page, Not(HasSubstr(other)));
  expect_nothing_left();
}

TEST_F(Trial, EndsASchemeAtTheLossThatWasAskedFor) {
  const json report = json_of(trial({"--schemes", "allreduce", "--workers", "2", "--target-loss", "100", "--json"}));
  const json& scheme = scheme_of(report, "allreduce");
  EXPECT_EQ(report["target_loss"], 100);
  EXPECT_GT(scheme["seconds_to_target"], 0);
  EXPECT_LT(scheme["seconds"], 60) << "it went on to the end of the time";
}

TEST_F(Trial, GoesOnWhenASchemeFailsAndSaysWhy) {
  RunningProcess run(
      TW_PROGRAM,
      words({"--schemes", "sharded,allreduce", "--workers", "2", "--seconds", "4", "--json", results_file()}),
      environment());
  // Nobody is to be killed in this trial: that one is, is the scheme's failure.
  ::kill(workers(2).at(0), SIGKILL);
  const ProcessResult ended = run.wait();
  EXPECT_EQ(ended.exit_code, 1);
  const json report = results();
  EXPECT_THAT(scheme_of(report, "sharded")["failure"].get<std::string>(), HasSubstr("was killed by signal 9"));
  expect_trained(scheme_of(report, "allreduce"));
  EXPECT_THAT(ended.out, HasSubstr("sharded failed: worker "));
  expect_nothing_left();
}

TEST_F(Trial, LeavesOutASchemeThatRefusesTheJob) {
  // Of an optimiser that looks at whole parameters nobody can have a part.
  const ProcessResult run = trial({"--schemes", "sharded,allreduce", "--workers", "2", "--seconds", "1", "--set",
                                   "optimizer.name=lamb", "--json", results_file()});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  const json report = results();
  EXPECT_THAT(scheme_of(report, "sharded")["skipped"].get<std::string>(), HasSubstr("compares whole parameters"));
  expect_trained(scheme_of(report, "allreduce"));
  EXPECT_THAT(run.out, HasSubstr("sharded was left out: "));
  expect_nothing_left();
}

TEST_F(Trial, LeavesOutWhatMakesNoSenseAndSaysWhy) {
  const ProcessResult run = trial({"--schemes", "tensorflow,localsgd,allreduce", "--workers", "2", "--seconds", "1",
                                   "--set", "scheme.compression=topk", "--json", results_file()});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  const json report = results();
  EXPECT_THAT(scheme_of(report, "tensorflow")["skipped"].get<std::string>(), HasSubstr("at least 3 workers"));
  EXPECT_THAT(scheme_of(report, "localsgd")["skipped"].get<std::string>(), HasSubstr("which sends weights"));
  expect_trained(scheme_of(report, "allreduce"));
}

TEST_F(Trial, TellsWhatAKillHasCost) {
  const json report =
      json_of(trial({"--schemes", "allreduce", "--workers", "2", "--seconds", "6", "--kill", "--json"}));
  const json& scheme = scheme_of(report, "allreduce");
  expect_trained(scheme);
  EXPECT_TRUE(scheme["kill"]["seconds"].is_number()) << scheme["kill"];
  EXPECT_GT(scheme["kill"]["pause"], 0);
}

TEST_F(Trial, LimitsLinksWhereItMay) {
  const json report =
      json_of(trial({"--schemes", "allreduce", "--workers", "2", "--seconds", "3", "--rate", "100mbit", "--json"}));
  const std::string links = report["setting"]["links"];
  if (::geteuid() != 0) {
    EXPECT_THAT(links, HasSubstr("as they are, not 100mbit: that takes root's rights"));
    return;
  }
  if (links != "100mbit") GTEST_SKIP() << links;
  const json& scheme = scheme_of(report, "allreduce");
  expect_trained(scheme);
  const double bits = 8 * scheme["sent_bytes"].get<double>() / scheme["seconds"].get<double>();
  EXPECT_LT(bits, 1.3 * 2 * 100e6) << "of both workers";
}

TEST_F(Trial, TellsWhatAutoHasBecomeOnASlowLink) {
  const ProcessResult run = trial({"--schemes", "auto", "--set", "scheme.steps=3", "--workers", "2", "--seconds", "25",
                                   "--rate", "1mbit", "--json", results_file()});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  const json report = results();
  const json& scheme = scheme_of(report, "auto");
  expect_trained(scheme);
  const json& chosen = scheme["chosen"];
  EXPECT_THAT(chosen["why"].get<std::string>(), HasSubstr("of gradients takes "));
  EXPECT_THAT(run.out, HasSubstr("auto became " + chosen["name"].get<std::string>()));
  if (report["setting"]["links"] != "1mbit") GTEST_SKIP() << "links are as they are: " << report["setting"]["links"];
  // To add up gradients as they are takes seconds, and to compute them less than one, also beside other work.
  EXPECT_TRUE(chosen["compression"] == "powersgd" || chosen["options"].value("period", 1.0) > 1) << chosen;
}

TEST_F(Trial, ThatIsInterruptedLeavesNothingBehind) {
  for (const int number : {SIGINT, SIGTERM}) {
    RunningProcess run(TW_PROGRAM, words({"--schemes", "allreduce", "--workers", "2", "--seconds", "1000"}),
                       environment());
    const std::vector<pid_t> pids = workers(2);
    run.signal(number);
    const ProcessResult ended = run.wait();
    EXPECT_EQ(ended.exit_code, 1);
    EXPECT_EQ(ended.out, "allreduce was left out: the trial was stopped before\n");
    EXPECT_TRUE(have_ended(pids));
    expect_nothing_left();
  }
}

TEST_F(Trial, ThatIsKilledTakesItsWorkersAlong) {
  RunningProcess run(TW_PROGRAM, words({"--schemes", "allreduce", "--workers", "2", "--seconds", "1000"}),
                     environment());
  const std::vector<pid_t> pids = workers(2);
  run.signal(SIGKILL);
  EXPECT_TRUE(have_ended(pids));
}

TEST_F(Trial, RefusesWhatMakesNoSense) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--schemes", "alreduce"}, "there is no scheme \"alreduce\"; nearest: allreduce"},
      {{"--slow", "4:2"}, "--slow is \"4:2\", must be WORKER:TIMES, as 1:4: a worker from 0 to 3, and 1 to 1000"},
      {{"--slow", "fast"}, "--slow is \"fast\""},
      {{"--rate", "100"}, "--rate is \"100\", must be from 10kbit to 30gbit, as in 100mbit"},
      {{"--set", "train.batch_size=2"}, "train.batch_size is 2, less than a sample for each of 4 workers"},
      {{"--set", "train.epocs=2"}, "train.epocs"},
      {{"--page", "/no/such/folder/page.html"}, "/no/such/folder"},
      {{"--workers", "1"}, "--workers"},
  };
  for (const auto& [options, text] : cases) {
    const ProcessResult run = trial(options);
    EXPECT_NE(run.exit_code, 0) << text;
    EXPECT_THAT(run.error, HasSubstr(text));
    EXPECT_EQ(run.out, "");
  }
  expect_nothing_left();
}

}  // namespace
}  // namespace thalweg::testing

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "base/threads.h"
#include "cli/program.h"
#include "support/temporary_directory.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ProcessResult launch(std::vector<std::string> options, const std::vector<std::string>& command) {
  options.insert(options.begin(), "launch");
  options.push_back("--");
  options.insert(options.end(), command.begin(), command.end());
  return run_program(options);
}

ProcessResult launch_shell(const std::vector<std::string>& options, const std::string& script) {
  return launch(options, {"sh", "-c", script});
}

TEST(Launch, WorkersKnowTheirGroupAndTheirNumber) {
  const ProcessResult run = launch_shell(
      {"-n", "3"}, "echo number $THALWEG_WORKER; test -n \"$THALWEG_RENDEZVOUS\" && test -n \"$THALWEG_SECRET\"");
  EXPECT_EQ(run.exit_code, 0) << run.error;
  for (const char* line : {"[0] number 0\n", "[1] number 1\n", "[2] number 2\n"}) EXPECT_THAT(run.out, HasSubstr(line));
}

TEST(Launch, WorkersKnowWhetherToUseTls) {
  EXPECT_THAT(launch_shell({"-n", "1"}, "echo tls $THALWEG_TLS").out, HasSubstr("tls 0"));
  EXPECT_THAT(launch_shell({"-n", "1", "--tls"}, "echo tls $THALWEG_TLS").out, HasSubstr("tls 1"));
}

TEST(Launch, AWorkerThatFailsIsStartedAgain) {
  const TemporaryDirectory folder;
  const ProcessResult run =
      launch_shell({"-n", "2"}, "mkdir " + (folder.path() / "").string() + "$THALWEG_WORKER && exit 3; echo better");
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.error, HasSubstr("worker 1 ended with status 3; starting it again"));
  EXPECT_THAT(run.out, HasSubstr("[0] better\n"));
}

TEST(Launch, AfterTheLastRestartAFailureStays) {
  const ProcessResult run = launch_shell({"-n", "1", "--restarts", "1"}, "kill -9 $$");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.error, HasSubstr("worker 0 was killed by signal 9 (Killed); starting it again"));
  EXPECT_THAT(run.error,
              HasSubstr("worker 0 was killed by signal 9 (Killed); --restarts does not allow to start it once more\n"));
}

size_t count_of(const std::string& part, const std::string& text) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Launch, WrongUsageIsNotRepeated) {
  const ProcessResult run = launch({"-n", "2"}, {TW_PROGRAM, "train", "/no/such/job.toml"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.error, HasSubstr("worker 1 ended with status 2; that is wrong usage, which starting it again would "
                                   "not change"));
  EXPECT_EQ(count_of("starting it again in", run.error), 0U);
  EXPECT_EQ(count_of("job.toml", run.out), 2U) << run.out;
}

TEST(Launch, AWorkerThatFailsBeforeItJoinsIsGivenUp) {
  const ProcessResult run = launch_shell({"-n", "1"}, "echo try; exit 3");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.error, HasSubstr("worker 0 ended with status 3; starting it again\n"));
  EXPECT_THAT(run.error, HasSubstr("worker 0 ended with status 3; starting it again in 0.25 s\n"));
  EXPECT_THAT(run.error, HasSubstr("worker 0 ended with status 3; it has failed 3 times in a row before it joined the "
                                   "group, and is not started again\n"));
  EXPECT_EQ(count_of("[0] try", run.out), 3U);
}

TEST(Launch, TooFewWorkersForTheGroupAreEnded) {
  const ProcessResult run =
      launch_shell({"-n", "2", "--min-workers", "2"}, "if [ $THALWEG_WORKER = 0 ]; then exit 2; fi; sleep 1000");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.error, HasSubstr("ending the workers (1 of 2 have failed for good, and the group needs 2)"));
}

TEST(Launch, AWorkerThatPrintsWithoutPauseAndWithoutLinesIsReadInPieces) {
  constexpr size_t kBytes = 20'000'000;
  const ProcessResult run = launch_shell({"-n", "1"}, "head -c " + std::to_string(kBytes) + " /dev/zero | tr '\\0' x");
  EXPECT_EQ(run.exit_code, 0) << run.error;
  size_t longest = 0, letters = 0;
  std::istringstream lines(run.out);
  for (std::string line; std::getline(lines, line);) {
    longest = std::max(longest, line.size());
    letters += static_cast<size_t>(std::count(line.begin(), line.end(), 'x'));
  }
  EXPECT_EQ(letters, kBytes);
  EXPECT_LE(longest, (size_t{128} << 10U) + 8);
}

TEST(Launch, EachWorkerGetsProcessorsOfItsOwn) {
  if (available_processors() < 2) GTEST_SKIP() << "there is one processor only";
  const std::string script = "grep Cpus_allowed: /proc/self/status";
  const ProcessResult pinned = launch_shell({"-n", "2"}, script);
  const ProcessResult free = launch_shell({"-n", "2", "--no-pin"}, script);
  EXPECT_EQ(pinned.exit_code, 0);
  const auto mask = [](const ProcessResult& run, const std::string& worker) {
    const size_t begin = run.out.find(worker);
    return run.out.substr(begin + worker.size(), run.out.find('\n', begin) - begin - worker.size());
  };
  EXPECT_NE(mask(pinned, "[0]"), mask(pinned, "[1]"));
  EXPECT_EQ(mask(free, "[0]"), mask(free, "[1]"));
}

/// Those of this process: what a quota leaves of them does not count.
cpu_set_t usable_processors() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  ::sched_getaffinity(0, sizeof mask, &mask);
  return mask;
}

/// A shell's words that allow what follows one processor only.
std::string on_one_processor() {
  const cpu_set_t mask = usable_processors();
  size_t first = 0;
  while (CPU_ISSET(first, &mask) == 0) ++first;
  return "taskset -c " + std::to_string(first) + " ";
}

ProcessResult run_shell(const std::string& script) { return run_process("/bin/sh", {"-c", script}); }

TEST(Launch, WorkersThatShareProcessorsHaveOneEach) {
  const std::string program = on_one_processor() + TW_PROGRAM " launch -n 3 -- ";
  const ProcessResult run = run_shell(program + TW_PROGRAM " doctor");
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.error, HasSubstr("3 workers share 1 processor, each runs on one of them\n"));
  EXPECT_EQ(count_of("threads     1 used of", run.out), 3U) << run.out;
  const ProcessResult alone = run_shell(TW_PROGRAM " launch -n 1 -- " TW_PROGRAM " doctor");
  EXPECT_EQ(count_of("share", alone.error), 0U);
}

TEST(Launch, ProcessorsAreDealtInTurns) {
  const cpu_set_t usable = usable_processors();
  const int workers = 2 * CPU_COUNT(&usable) + 1;
  const ProcessResult run = launch_shell({"-n", std::to_string(workers)}, "grep Cpus_allowed_list /proc/self/status");
  EXPECT_EQ(run.exit_code, 0) << run.error;
  std::map<std::string, int> counts;
  std::istringstream lines(run.out);
  for (std::string line; std::getline(lines, line);) ++counts[line.substr(line.rfind('\t') + 1)];
  EXPECT_EQ(counts.size(), static_cast<size_t>(CPU_COUNT(&usable))) << run.out;
  for (const auto& [processors, count] : counts) {
    EXPECT_EQ(processors.find_first_not_of("0123456789"), std::string::npos) << processors;
    EXPECT_LE(count, 3) << processors;
  }
}

TEST(Launch, AReportForProgramsTellsOfFailures) {
  const ProcessResult run = launch_shell({"-n", "1", "--json"}, "exit 3");
  EXPECT_EQ(run.exit_code, 1);
  const nlohmann::json report = nlohmann::json::parse(run.out);
  EXPECT_FALSE(report["done"]);
  EXPECT_EQ(report["restarts"], 2);
}

TEST(Launch, OpenFilesAreAllowedForTheLauncherAlone) {
  // Each worker takes two of them.
  const ProcessResult run =
      run_shell("ulimit -Sn 30; exec " TW_PROGRAM " launch -n 40 -- sh -c 'echo files $(ulimit -Sn)'");
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_EQ(count_of("files 30\n", run.out), 40U) << run.out;
}

TEST(Launch, TooFewOpenFilesAreFoundBeforeAnybodyStarts) {
  const ProcessResult run = run_shell("ulimit -n 100; exec " TW_PROGRAM " launch -n 40 -- echo started");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.error, HasSubstr("40 workers need 144 open files, and this program may have 100"));
  EXPECT_EQ(run.out, "");
}

TEST(Launch, SecondsHaveBounds) {
  for (const char* option : {"--form-timeout", "--settle", "--end-timeout"}) {
    for (const char* value : {"1e10", "inf", "nan", "-1", "soon"}) {
      const ProcessResult run = launch_shell({"-n", "1", option, value}, "true");
      EXPECT_EQ(run.exit_code, 2) << option << " " << value;
      EXPECT_THAT(run.error, ::testing::ContainsRegex("must be 0(.1)? to 100000000 seconds")) << option << " " << value;
    }
  }
  for (const char* value : {"0", "1e-8"}) {
    EXPECT_EQ(launch_shell({"-n", "1", "--form-timeout", value}, "true").exit_code, 2) << value;
  }
  EXPECT_EQ(launch_shell({"-n", "1", "--settle", "0", "--form-timeout", "1e8"}, "true").exit_code, 0);
}

TEST(Launch, MistakesAreExplained) {
  EXPECT_THAT(launch({"-n", "2"}, {"/no/such/program"}).error, HasSubstr("cannot start /no/such/program"));
  const ProcessResult run = launch_shell({"-n", "2", "--min-workers", "3"}, "true");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.error, HasSubstr("--min-workers is 3"));
}

#ifdef TW_GROUP_EXAMPLE
TEST(Launch, AReportForProgramsIsAllThatGoesToStdout) {
  const ProcessResult run = launch({"-n", "2", "--json"}, {TW_GROUP_EXAMPLE});
  const nlohmann::json report = json_of(run);
  EXPECT_TRUE(report["done"]);
  EXPECT_EQ(report["workers"], 2);
  EXPECT_EQ(report["epochs"], 1);
  EXPECT_GT(report["steps"], 1);
  EXPECT_EQ(report["restarts"], 0);
  EXPECT_THAT(run.error, HasSubstr("[0] "));
  EXPECT_THAT(run.error, Not(HasSubstr("samples/s  waiting")));
  EXPECT_THAT(launch({"-n", "2", "--json", "--progress"}, {TW_GROUP_EXAMPLE}).error, HasSubstr("samples/s  waiting"));
}

TEST(Launch, WorkersTrainTogether) {
  const ProcessResult run = launch({"-n", "2"}, {TW_GROUP_EXAMPLE});
  EXPECT_EQ(run.exit_code, 0) << run.out << run.error;
  EXPECT_THAT(run.error, HasSubstr("epoch 1 has 2 members"));
  EXPECT_THAT(run.out, HasSubstr("[0] "));
  EXPECT_THAT(run.out, HasSubstr("of the points on the right spiral"));
}
#endif

}  // namespace
}  // namespace thalweg::testing

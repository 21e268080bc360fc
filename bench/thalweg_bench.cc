// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Benchmark worker: trains one case, runs it forward, or reads data. bench/run.py drives it and PyTorch's worker alike;
// bench/README.md describes the lines that go to and fro.
//   thalweg_bench --case NAME [--threads N] [--steps-warmup N] [--explain]
// --explain runs a few steps and prints every step of the program with its kernel and time instead; --write-int8 FILE
// only quantises the case's model.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>

#include "bench/cases.h"
#include "bench/data_run.h"
#include "bench/data_wait_run.h"
#include "bench/ddp_run.h"
#include "bench/group_run.h"
#include "bench/inference_run.h"
#include "bench/int8_run.h"
#include "bench/training_run.h"

namespace thalweg::bench {
namespace {

using nlohmann::json;

struct Arguments {
  std::string name;
  int threads = 2;
  int warmup = 0;
  bool explain = false;
  std::string write_int8;
};

int whole_number(const std::string& option, const std::string& text) {
  const bool digits = !text.empty() && text.size() < 7 && text.find_first_not_of("0123456789") == std::string::npos;
  TW_REQUIRE(digits, option, " needs a whole number, got '", text, "'");
  return std::stoi(text);
}

Arguments parse(int argc, char** argv) {
  Arguments result;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--explain") {
      result.explain = true;
      continue;
    }
    TW_REQUIRE(i + 1 < argc, option, " needs a value");
    const std::string value = argv[++i];
    if (option == "--case") {
      result.name = value;
    } else if (option == "--threads") {
      result.threads = whole_number(option, value);
    } else if (option == "--steps-warmup") {
      result.warmup = whole_number(option, value);
    } else if (option == "--write-int8") {
      result.write_int8 = value;
    } else {
      raise("unknown option ", option, "; known: --case, --threads, --steps-warmup, --explain, --write-int8");
    }
  }
  TW_REQUIRE(result.threads >= 1, "--threads must be at least 1");
  return result;
}

/// The most memory this process ever had, in MiB.
double peak_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024.0;
  }
  raise("no VmHWM in /proc/self/status");
}

/// What all kinds of run look like here.
struct Run {
  std::function<void()> step;    ///< timed
  std::function<double()> loss;  ///< of the last step
  Session* session = nullptr;    ///< where a program runs
  std::function<std::string()> explanation = nullptr;
  std::function<void(int)> announce = nullptr;  ///< told how many steps follow
  std::function<void()> reset = nullptr;        ///< before each step
  /// Steps with and without the other processes, in turns, where there are such: the milliseconds of both.
  std::function<json(int)> pairs = nullptr;
  /// Where steps cannot be run one by one: what `run` answers.
  std::function<json(int)> together = nullptr;
};

json run_steps(Run& run, int steps) {
  using Clock = std::chrono::steady_clock;
  if (run.together && steps > 0) {
    json answer = run.together(steps);
    answer["peak_mb"] = peak_mb();
    return answer;
  }
  json ms = json::array();
  json losses = json::array();
  if (run.announce) run.announce(steps);
  for (int i = 0; i < steps; ++i) {
    if (run.reset) run.reset();
    const auto begin = Clock::now();
    run.step();
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    losses.push_back(run.loss());
  }
  return {{"ms", ms}, {"losses", losses}, {"peak_mb", peak_mb()}};
}

void print_shares(const Program& program, const std::vector<double>& milliseconds, double step_ms) {
  std::map<std::string, std::pair<double, int>> by_op;
  double sum = 0.0;
  for (size_t i = 0; i < program.steps().size(); ++i) {
    const Step& step = program.steps()[i];
    const std::string op = step.node != nullptr ? step.node->op_name() : step.label.substr(0, step.label.find(' '));
    auto& [ms, count] = by_op[op + " (" + step.kernel->name + ")"];
    ms += milliseconds[i];
    sum += milliseconds[i];
    ++count;
  }
  by_op["- optimiser and the rest"] = {step_ms - sum, 1};
  std::vector<std::pair<std::string, std::pair<double, int>>> sorted(by_op.begin(), by_op.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
  std::printf("\n%.2f ms a step:\n", step_ms);
  for (const auto& [op, share] : sorted) {
    std::printf("%10.3f ms %5.1f%% %5d x %s\n", share.first, 100.0 * share.first / step_ms, share.second, op.c_str());
  }
}

void explain(Run& run) {
  run_steps(run, 2);
  run.session->enable_profile();
  const json result = run_steps(run, 5);
  double mean = 0.0;
  for (double ms : result.at("ms")) mean += ms / 5.0;
  const std::vector<double> milliseconds = run.session->step_milliseconds();
  const Program& program = run.session->program();
  std::cout << program.explain(milliseconds);
  print_shares(program, milliseconds, mean);
  std::cout << "losses " << result.at("losses") << ", peak " << peak_mb() << " MiB\n";
}

void say(const json& message) { std::cout << message.dump() << std::endl; }

void serve(Run& run) {
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "quit") return;
    if (run.pairs && line.starts_with("pairs ")) {
      say(run.pairs(whole_number("pairs", line.substr(6))));
      continue;
    }
    TW_REQUIRE(line.starts_with("run "), "expected 'run N' or 'quit', got '", line, "'");
    say(run_steps(run, whole_number("run", line.substr(4))));
  }
}

void work(const Arguments& arguments, Run run) {
  if (arguments.explain) {
    if (run.explanation != nullptr) {
      run_steps(run, 2);
      std::cout << run.explanation() << "peak " << peak_mb() << " MiB\n";
      return;
    }
    TW_REQUIRE(run.session != nullptr, arguments.name, " runs no program that could be explained");
    explain(run);
    return;
  }
  const json warmup = run_steps(run, arguments.warmup);
  json hello = {
      {"ready", true}, {"case", arguments.name}, {"threads", arguments.threads}, {"losses", warmup.at("losses")}};
  if (run.pairs) hello["pairs"] = true;
  say(hello);
  serve(run);
}

void work(const Arguments& arguments) {
  double loss = 0;
  if (arguments.name == "data_wait_resnet50") {
    DataWaitRun run(arguments.threads);
    Run steps{};
    steps.together = [&](int count) {
      const DataWaitRun::Steps taken = run.run(count);
      return json{
          {"ms", taken.ms}, {"losses", taken.losses}, {"wait_ms", taken.wait_ms}, {"decode_ms", run.decode_ms()}};
    };
    work(arguments, steps);
    return;
  }
  if (arguments.name.starts_with("data_")) {
    const std::function<double()> step = data_step(arguments.name, arguments.threads);
    work(arguments, {[&] { loss = step(); }, [&] { return loss; }});
    return;
  }
  if (arguments.name.starts_with("allreduce_")) {
    AllReduceRun run(arguments.name);
    work(arguments, {[&] { run.step(); }, [&] { return run.check(); }, nullptr, nullptr,
                     [&](int steps) { run.announce(steps); }, [&] { run.reset(); }});
    return;
  }
  const json spec = find_case(arguments.name);
  if (arguments.name.starts_with("ddp_")) {
    DdpRun run(arguments.name, spec);
    Run steps{[&] { loss = run.step(); }, [&] { return loss; }};
    steps.announce = [&](int count) { run.announce(count); };
    steps.pairs = [&](int count) {
      const DdpRun::Pairs pairs = run.run_pairs(count);
      return json{{"together_ms", pairs.together_ms}, {"alone_ms", pairs.alone_ms}};
    };
    work(arguments, steps);
    return;
  }
  if (!arguments.write_int8.empty()) {
    write_int8_model(spec, arguments.write_int8, arguments.threads);
    return;
  }
  if (spec.value("int8", false)) {
    Int8Run run(arguments.name, spec, arguments.threads);
    work(arguments, {[&] { run.step(); }, [&] { return run.loss(); }, nullptr, [&] { return run.explain(); }});
    return;
  }
  if (arguments.name.starts_with("infer_")) {
    InferenceRun run(spec, arguments.threads);
    work(arguments, {[&] { run.step(); }, [&] { return run.loss(); }, &run.session()});
    return;
  }
  TrainingRun run(spec, arguments.threads);
  work(arguments, {[&] { loss = run.step(); }, [&] { return loss; }, &run.session()});
}

/// False in the first process.
bool serve_as_second() {
  const std::optional<SecondProcess::Task> task = SecondProcess::task();
  if (!task) return false;
  try {
    if (task->name.starts_with("ddp_")) {
      DdpRun::serve(*task, find_case(task->name));
    } else {
      AllReduceRun::serve(*task);
    }
  } catch (const std::exception& error) {
    // The first process has ended, as it does when it is told to quit.
    std::cerr << "second process: " << error.what() << "\n";
  }
  return true;
}

}  // namespace
}  // namespace thalweg::bench

int main(int argc, char** argv) {
  if (thalweg::bench::serve_as_second()) return 0;
  try {
    thalweg::bench::work(thalweg::bench::parse(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    thalweg::bench::say({{"error", error.what()}});
    return 1;
  }
}

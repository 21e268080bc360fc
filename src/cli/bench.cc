// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <algorithm>

#include "base/text.h"
#include "base/threads.h"
#include "cli/model_options.h"
#include "cli/progress.h"
#include "cli/text_table.h"
#include "model/measure.h"

namespace thalweg::cli {
namespace {

int64_t peak_memory_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

std::string text_of(const Json& report) {
  std::ostringstream out;
  out << report["model"].get<std::string>() << ", " << report["precision"].get<std::string>() << ", "
      << report["streams"] << " streams x " << report["threads"] << " threads\n";
  for (const Json& input : report["inputs"]) out << "  input " << describe_text(input) << '\n';
  const Json& latency = report["latency_ms"];
  TextTable table({"mean", "p50", "p90", "p99", "min", "max"});
  std::vector<std::string> cells;
  for (const auto& [name, value] : latency.items()) cells.push_back(format("%.3f", value));
  table.add_row(cells);
  out << "latency in ms\n" << table.to_string(2);
  out << "throughput   " << format("%.1f", report["runs_per_second"]) << " runs/s, "
      << format("%.1f", report["samples_per_second"]) << " samples/s (" << report["runs"] << " runs in "
      << format("%.2f s", report["seconds"]) << ")\n";
  out << "load         " << format("%.1f ms", report["load_ms"]) << ", first run "
      << format("%.1f ms", report["first_run_ms"]) << '\n';
  out << "memory       weights " << human_bytes(report["weight_bytes"]) << ", peak of the process "
      << human_bytes(report["peak_memory_bytes"]) << '\n';
  return out.str();
}

class Bench : public Command {
 public:
  CommandDescription describe() const override {
    return {"bench", "How fast a model runs: latency, throughput, memory",
            "thalweg bench resnet50.onnx --batch 16 --streams 2 --threads 1"};
  }

  void add_options(CLI::App& options) override {
    model_.add_to(options);
    inputs_.add_to(options);
    options.add_option("--streams", streams_, "Threads that call the one loaded model at the same time")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    options.add_option("--seconds", seconds_, "How long to measure")
        ->check(CLI::Range(0.0, 86400.0))
        ->capture_default_str();
  }

  int run() override {
    const int threads = model_.threads > 0 ? model_.threads : std::max(1, available_processors() / streams_);
    const auto begin = std::chrono::steady_clock::now();
    const Model model = model_.load(threads);
    const std::chrono::duration<double, std::milli> load = std::chrono::steady_clock::now() - begin;
    const std::vector<Tensor> inputs = inputs_.make(model);
    Progress progress(shows_progress(), "measuring, s");
    MeasureOptions options{.streams = streams_, .seconds = seconds_};
    options.progress = [&](double done) { progress.update(done, seconds_); };
    const Measurement measured = measure(model, inputs, options);
    print(report(model, inputs, threads, load.count(), measured), text_of);
    return kDone;
  }

 private:
  Json report(const Model& model, const std::vector<Tensor>& inputs, int threads, double load_ms,
              const Measurement& measured) const {
    Json result = {{"model", model_.path},
                   {"precision", name_of(model.summary().precision)},
                   {"streams", streams_},
                   {"threads", threads}};
    result["inputs"] = Json::array();
    for (size_t i = 0; i < inputs.size(); ++i) {
      result["inputs"].push_back({{"name", model.inputs()[i].name},
                                  {"dtype", name_of(inputs[i].dtype())},
                                  {"shape", inputs[i].shape().dims()}});
    }
    const bool has_rows = !inputs.empty() && inputs[0].shape().rank() > 0;
    const int64_t batch = has_rows ? inputs[0].shape()[0] : 1;
    const Latency& latency = measured.latency;
    result["batch"] = batch;
    result["latency_ms"] = {{"mean", latency.mean}, {"p50", latency.p50}, {"p90", latency.p90},
                            {"p99", latency.p99},   {"min", latency.min}, {"max", latency.max}};
    result["runs"] = measured.runs;
    result["seconds"] = measured.seconds;
    result["runs_per_second"] = measured.runs_per_second();
    result["samples_per_second"] = measured.runs_per_second() * static_cast<double>(batch);
    result["load_ms"] = load_ms;
    result["first_run_ms"] = measured.first_run_milliseconds;
    result["weight_bytes"] = model.summary().weight_bytes;
    result["peak_memory_bytes"] = peak_memory_bytes();
    return result;
  }

  ModelOptions model_;
  RandomInputOptions inputs_;
  int streams_ = 1;
  double seconds_ = 3;
};

const RegisterCommand kBench([] { return std::make_unique<Bench>(); });

}  // namespace
}  // namespace thalweg::cli

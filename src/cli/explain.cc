// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "base/text.h"
#include "cli/model_options.h"
#include "cli/text_table.h"

namespace thalweg::cli {
namespace {

Json json_of(const StepProfile& step) {
  Json result = {{"op", step.op},
                 {"name", step.name},
                 {"kernel", step.kernel},
                 {"outputs", step.outputs},
                 {"output_bytes", step.output_bytes},
                 {"is_view", step.is_view},
                 {"declined", step.declined}};
  if (step.milliseconds >= 0) result["ms"] = step.milliseconds;
  return result;
}

Json json_of(const ProgramProfile& part) {
  Json result = {{"name", part.name},
                 {"threads", part.threads},
                 {"arena_bytes", part.arena_bytes},
                 {"derived_weight_bytes", part.derived_bytes},
                 {"once", Json::array()},
                 {"steps", Json::array()}};
  for (const StepProfile& step : part.once) result["once"].push_back(json_of(step));
  for (const StepProfile& step : part.steps) result["steps"].push_back(json_of(step));
  return result;
}

/// Steps and time of everything that has the same `key`, the slowest first.
Json totals(const std::vector<ProgramProfile>& parts, const std::function<std::string(const StepProfile&)>& key) {
  std::map<std::string, std::pair<int64_t, double>> by_key;
  for (const ProgramProfile& part : parts) {
    for (const StepProfile& step : part.steps) {
      if (step.is_view) continue;
      auto& [count, time] = by_key[key(step)];
      ++count;
      time += std::max(step.milliseconds, 0.0);
    }
  }
  std::vector<std::pair<std::string, std::pair<int64_t, double>>> sorted(by_key.begin(), by_key.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.second > b.second.second; });
  Json result = Json::array();
  for (const auto& [name, total] : sorted) {
    result.push_back({{"name", name}, {"steps", total.first}, {"ms", total.second}});
  }
  return result;
}

Json describe_model(const Model& model, const std::string& path) {
  const ModelSummary& summary = model.summary();
  Json report = {{"model", path},
                 {"name", summary.name},
                 {"opset", summary.opset},
                 {"producer", summary.producer},
                 {"inputs", Json::array()},
                 {"outputs", Json::array()},
                 {"metadata", model.metadata()},
                 {"nodes", summary.nodes},
                 {"operators", summary.operators},
                 {"parameters", summary.parameters},
                 {"weight_bytes", summary.weight_bytes},
                 {"precision", name_of(summary.precision)}};
  for (const ValueDescription& input : model.inputs()) report["inputs"].push_back(cli::describe(input));
  for (const ValueDescription& output : model.outputs()) report["outputs"].push_back(cli::describe(output));
  return report;
}

void add_profile(Json& report, const std::vector<ProgramProfile>& parts) {
  size_t arena = 0;
  size_t derived = 0;
  double total = 0;
  report["parts"] = Json::array();
  for (const ProgramProfile& part : parts) {
    arena += part.arena_bytes;
    derived += part.derived_bytes;
    for (const StepProfile& step : part.steps) total += std::max(step.milliseconds, 0.0);
    report["parts"].push_back(json_of(part));
  }
  report["arena_bytes"] = arena;
  report["derived_weight_bytes"] = derived;
  report["total_ms"] = total;
  report["by_op"] = totals(parts, [](const StepProfile& step) { return step.op == "-" ? "reorder" : step.op; });
  report["by_kernel"] = totals(parts, [](const StepProfile& step) { return step.kernel; });
}

std::string totals_text(const char* title, const Json& rows, double total) {
  TextTable table({title, "steps", "ms", "share"});
  for (const Json& row : rows) {
    const double time = row["ms"];
    table.add_row(
        {row["name"], row["steps"].dump(), format("%.3f", time), format("%.1f%%", total > 0 ? 100 * time / total : 0)});
  }
  return table.to_string() + "\n";
}

class Explain : public Command {
 public:
  CommandDescription describe() const override {
    return {"explain", "What Thalweg makes of a model: graph, kernels, memory, time per node",
            "thalweg explain resnet50.onnx --input-shape x=1x3x224x224 --top 10"};
  }

  void add_options(CLI::App& options) override {
    model_.add_to(options);
    inputs_.add_to(options);
    options.add_option("--sort", sort_, "Order of the steps: order (of execution), time or bytes (of the output)")
        ->check(CLI::IsMember({"order", "time", "bytes"}))
        ->capture_default_str();
    options.add_option("--top", top_, "Show so many steps (0: all)")->check(CLI::NonNegativeNumber);
    options.add_flag("--declined", declined_, "Say why better kernels declined");
    options.add_flag("--no-run", no_run_, "Describe the file only; compile and run nothing");
  }

  int run() override {
    const Model model = model_.load();
    Json report = describe_model(model, model_.path);
    if (!no_run_) add_profile(report, model.profile(inputs_.make(model)));
    const std::string text = model_.path + ": " + thalweg::describe(model);
    print(report, [&](const Json& whole) { return text + (no_run_ ? "" : run_text(whole)); });
    return kDone;
  }

 private:
  std::string run_text(const Json& report) const {
    const double total = report["total_ms"];
    std::ostringstream out;
    out << "memory of a run " << human_bytes(report["arena_bytes"])
        << ", weights arranged for kernels beside the others " << human_bytes(report["derived_weight_bytes"]) << "\n\n";
    out << totals_text("op", report["by_op"], total) << totals_text("kernel", report["by_kernel"], total);
    out << steps_text(report, total);
    out << format("%.3f ms", total) << " in all\n";
    return out.str();
  }

  std::string steps_text(const Json& report, double total) const {
    std::vector<Json> steps;
    for (const Json& part : report["parts"]) steps.insert(steps.end(), part["steps"].begin(), part["steps"].end());
    const char* key = sort_ == "time" ? "ms" : "output_bytes";
    if (sort_ != "order") {
      std::stable_sort(steps.begin(), steps.end(), [&](const Json& a, const Json& b) { return a[key] > b[key]; });
    }
    const size_t shown = top_ > 0 ? std::min(steps.size(), static_cast<size_t>(top_)) : steps.size();
    TextTable table({"op", "name", "kernel", "output", "size", "ms", "share"});
    std::string reasons;
    for (size_t i = 0; i < shown; ++i) {
      const Json& step = steps[i];
      const double time = step["ms"];
      const std::string output = join(step["outputs"].get<std::vector<std::string>>(), "; ");
      table.add_row({step["op"], step["name"], step["is_view"] ? "view" : step["kernel"], output,
                     human_bytes(step["output_bytes"]), format("%.3f", time),
                     format("%.1f%%", total > 0 ? 100 * time / total : 0)});
      for (const Json& reason : step["declined"]) {
        reasons += "  " + step["name"].get<std::string>() + ": " + reason.get<std::string>() + "\n";
      }
    }
    std::string text = table.to_string();
    if (shown < steps.size()) text += "and " + std::to_string(steps.size() - shown) + " more\n";
    if (declined_ && !reasons.empty()) text += "\ndeclined\n" + reasons;
    return text + "\n";
  }

  ModelOptions model_;
  RandomInputOptions inputs_;
  std::string sort_ = "order";
  int64_t top_ = 0;
  bool declined_ = false;
  bool no_run_ = false;
};

const RegisterCommand kExplain([] { return std::make_unique<Explain>(); });

}  // namespace
}  // namespace thalweg::cli

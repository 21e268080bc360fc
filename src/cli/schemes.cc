// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "cli/command.h"
#include "thalweg/sync.h"

namespace thalweg::cli {
namespace {

const char* name_of(sync::Optimisation value) {
  return value == sync::Optimisation::kCentral ? "central" : "decentral";
}

const char* name_of(sync::Schedule value) {
  switch (value) {
    case sync::Schedule::kSynchronous: return "synchronous";
    case sync::Schedule::kBounded: return "bounded";
    case sync::Schedule::kAsynchronous: return "asynchronous";
  }
  return "";
}

const char* name_of(sync::Exchange value) {
  switch (value) {
    case sync::Exchange::kAllReduce: return "all-reduce";
    case sync::Exchange::kScatterReduce: return "scatter-reduce";
    case sync::Exchange::kTwoLevels: return "two levels";
    case sync::Exchange::kTree: return "binomial tree";
    case sync::Exchange::kNeighbours: return "neighbours";
    case sync::Exchange::kAdHoc: return "ad hoc";
  }
  return "";
}

Json to_json(const std::vector<sync::OptionInfo>& options) {
  Json result = Json::array();
  for (const sync::OptionInfo& option : options) {
    result.push_back({{"name", option.name},
                      {"usual", option.usual},
                      {"least", option.least},
                      {"most", option.most},
                      {"description", option.description}});
  }
  return result;
}

Json to_json(const sync::Preset& preset) {
  const auto axis = [&](auto value) { return preset.is_chosen ? "as chosen" : name_of(value); };
  return {{"name", preset.name},
          {"parallel", preset.parallelism == sync::Parallelism::kData ? "data" : "model"},
          {"optimisation", axis(preset.optimisation)},
          {"schedule", axis(preset.schedule)},
          {"exchange", axis(preset.exchange)},
          {"description", preset.description},
          {"promise", preset.promise},
          {"when", preset.when},
          {"compresses", preset.compresses},
          {"least_workers", preset.least_workers},
          {"options", to_json(preset.options)}};
}

std::string text_of_options(const Json& options) {
  std::ostringstream out;
  for (const Json& option : options) {
    out << "    " << option["name"].get<std::string>() << " = " << option["usual"].get<double>() << "  "
        << option["description"].get<std::string>() << '\n';
  }
  return out.str();
}

std::string text_of(const Json& report) {
  std::ostringstream out;
  for (const Json& scheme : report["schemes"]) {
    const auto text = [&](const char* key) { return scheme[key].get<std::string>(); };
    out << text("name") << "  (" << text("parallel") << " parallel, " << text("optimisation");
    // Of one that is chosen they are all the same.
    if (scheme["schedule"] != scheme["optimisation"]) out << ", " << text("schedule") << ", " << text("exchange");
    out << ")\n"
        << "  " << text("description") << '\n'
        << "  promises: " << text("promise") << '\n'
        << "  take it if: " << text("when") << '\n'
        << text_of_options(scheme["options"]);
  }
  if (!report["compressions"].empty()) out << "\nForms in which gradients travel (compression):\n";
  for (const Json& form : report["compressions"]) {
    out << form["name"].get<std::string>() << "  " << form["description"].get<std::string>() << '\n'
        << text_of_options(form["options"]);
  }
  return out.str();
}

class Schemes : public Command {
 public:
  CommandDescription describe() const override {
    return {"schemes", "Ways to train with several workers, what they promise, and when to take them",
            "thalweg schemes diloco"};
  }
  void add_options(CLI::App& options) override {
    options.add_option("NAME", name_, "Only this one; otherwise all, and all compressions");
  }
  int run() override {
    Json report = {{"schemes", Json::array()}, {"compressions", Json::array()}};
    std::vector<std::string> names;
    for (const sync::Preset& preset : sync::presets()) {
      names.push_back(preset.name);
      if (name_.empty() || name_ == preset.name) report["schemes"].push_back(to_json(preset));
    }
    if (report["schemes"].empty()) wrong_usage("there is no scheme '", name_, "'; there are: ", join(names, ", "));
    if (name_.empty()) {
      for (const sync::CompressorInfo& form : sync::compressors()) {
        report["compressions"].push_back(
            {{"name", form.name}, {"description", form.description}, {"options", to_json(form.options)}});
      }
    }
    print(report, text_of);
    return kDone;
  }

 private:
  std::string name_;
};

const RegisterCommand kSchemes([] { return std::make_unique<Schemes>(); });

}  // namespace
}  // namespace thalweg::cli

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "cli/command.h"
#include "thalweg/model.h"
#include "thalweg/zoo.h"

namespace thalweg::cli {
namespace {

Json values_json(const std::vector<ValueDescription>& values) {
  Json result = Json::array();
  for (const ValueDescription& value : values) result.push_back(to_string(value));
  return result;
}

/// Built with the usual options, which takes a moment for large ones.
Json describe_model(const std::string& name, bool measured) {
  Json result = {{"name", name}, {"options", Json::array()}};
  for (const zoo::OptionInfo& option : zoo::options(name)) {
    result["options"].push_back({{"name", option.name}, {"usual", option.usual}});
  }
  if (!measured) return result;
  const Model model(zoo::build(name));
  result["inputs"] = values_json(model.inputs());
  result["outputs"] = values_json(model.outputs());
  result["parameters"] = model.summary().parameters;
  return result;
}

std::string text_of(const Json& report) {
  std::ostringstream out;
  for (const Json& model : report["models"]) {
    out << model["name"].get<std::string>() << ": ";
    const char* separator = "";
    for (const Json& option : model["options"]) {
      out << separator << option["name"].get<std::string>() << " = " << option["usual"].get<std::string>();
      separator = ", ";
    }
    out << '\n';
    if (!model.contains("parameters")) continue;
    for (const char* key : {"inputs", "outputs"}) {
      for (const Json& value : model[key]) {
        out << "  " << (key[0] == 'i' ? "takes " : "gives ") << value.get<std::string>() << '\n';
      }
    }
    out << "  " << model["parameters"].get<int64_t>() << " parameters\n";
  }
  return out.str();
}

class Models : public Command {
 public:
  CommandDescription describe() const override {
    return {"models", "The models that `model.name` of a job can be, with their options (`model.NAME`)",
            "thalweg models resnet18"};
  }
  void add_options(CLI::App& options) override {
    options.add_option("NAME", name_, "Only this one, with what it takes and gives and its size");
  }
  int run() override {
    const std::vector<std::string> names = zoo::names();
    if (!name_.empty() && std::find(names.begin(), names.end(), name_) == names.end()) {
      wrong_usage("there is no model ", printable(name_), "; near: ", nearest_names(name_, names));
    }
    Json report = {{"models", Json::array()}};
    for (const std::string& name : names) {
      if (name_.empty() || name_ == name) report["models"].push_back(describe_model(name, !name_.empty()));
    }
    print(report, text_of);
    return kDone;
  }

 private:
  std::string name_;
};

const RegisterCommand kModels([] { return std::make_unique<Models>(); });

}  // namespace
}  // namespace thalweg::cli

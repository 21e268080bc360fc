// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/training_form.h"

#include <nlohmann/json.hpp>
#include <set>

namespace thalweg::onnx {
namespace {

using nlohmann::json;

/// Sorted, so that the same model makes the same file.
json sorted(const std::unordered_set<std::string>& names) { return std::set<std::string>(names.begin(), names.end()); }

}  // namespace

std::string TrainingForm::to_text() const {
  json object = {{"trained", sorted(trained)}, {"batch_norms", batch_norms_learn ? "learned" : "frozen"}};
  if (!frozen.empty()) object["frozen"] = sorted(frozen);
  if (!states.empty()) object["states"] = sorted(states);
  if (!assignments.empty()) object["assignments"] = assignments;
  // Names come from anywhere, and may be no UTF-8.
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

TrainingForm TrainingForm::from_text(const std::string& text) {
  TrainingForm form;
  try {
    const json object = json::parse(text);
    form.trained = object.at("trained").get<std::unordered_set<std::string>>();
    form.batch_norms_learn = object.at("batch_norms").get<std::string>() == "learned";
    if (object.contains("frozen")) form.frozen = object["frozen"].get<std::unordered_set<std::string>>();
    if (object.contains("states")) form.states = object["states"].get<std::unordered_set<std::string>>();
    if (object.contains("assignments")) {
      form.assignments = object["assignments"].get<std::vector<std::pair<std::string, std::string>>>();
    }
  } catch (const json::exception& error) {
    raise("metadata property ", kProperty, ": ", error.what());
  }
  return form;
}

}  // namespace thalweg::onnx

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <nlohmann/json.hpp>

#include "capi/guard.h"
#include "capi/result.h"
#include "capi/targets_json.h"
#include "job/memory.h"
#include "job/start_model.h"
#include "job/training.h"
#include "thalweg/c_training.h"
#include "thalweg/fit_data.h"
#include "thalweg/onnx.h"

namespace thalweg::capi {
namespace {

using nlohmann::json;

json describe(const std::vector<Value*>& values) {
  json list = json::array();
  for (const Value* value : values) {
    list.push_back({{"name", value->name()}, {"dtype", name_of(value->dtype())}, {"shape", value->shape().dims()}});
  }
  return list;
}

}  // namespace
}  // namespace thalweg::capi

tw_status tw_training_model(const char* source, const char* settings, const char* path, tw_result** result) {
  return thalweg::capi::guarded([&] {
    TW_REQUIRE(source != nullptr && result != nullptr, "the source or the result is a null pointer");
    auto file = thalweg::job::Settings::from_text(settings != nullptr ? settings : "", "settings");
    const thalweg::job::StartModel start = thalweg::job::start_model(source, file);
    thalweg::Graph& graph = *start.graph;
    thalweg::job::Training training = thalweg::job::read_training(file);
    file.finish();
    thalweg::job::fit_together(graph, training, file);
    const thalweg::job::MemoryEstimate memory = thalweg::job::estimate_memory(graph, training);
    if (path != nullptr) thalweg::onnx::save_exactly(graph, path, nullptr, start.metadata);
    const nlohmann::json text = {{"inputs", thalweg::capi::describe(graph.inputs())},
                                 {"outputs", thalweg::capi::describe(graph.outputs())},
                                 {"loss", training.loss_name},
                                 {"targets", thalweg::capi::to_json(accepted_targets(graph, training.loss))},
                                 {"batch_size", training.options.batch_size},
                                 {"patience", training.options.early_stopping.patience},
                                 {"memory", {{"weights", memory.weights}, {"sample", memory.sample}}},
                                 {"bytes", thalweg::job::weight_bytes(graph)},
                                 {"metadata", start.metadata}};
    *result = new tw_result{{}, text.dump()};
  });
}

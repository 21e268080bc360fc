// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "capi/guard.h"
#include "capi/result.h"
#include "job/memory.h"
#include "job/settings.h"
#include "job/training.h"
#include "thalweg/c_training.h"
#include "thalweg/fit_data.h"
#include "thalweg/graph_file.h"
#include "thalweg/onnx.h"
#include "thalweg/zoo.h"

namespace thalweg::capi {
namespace {

using nlohmann::json;

constexpr const char* kZoo = "zoo:";

/// By its first bytes, since files travel under other names: the length of the header, then the header, which is JSON.
bool is_safetensors(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char begin[9] = {};
  file.read(begin, sizeof begin);
  return file && begin[8] == '{';
}

std::unique_ptr<Graph> model_from(const std::string& source, job::Settings& settings) {
  if (source.rfind(kZoo, 0) == 0) {
    const Attributes options = settings.other_attributes("model");
    return zoo::build(source.substr(std::string(kZoo).size()), options);
  }
  return is_safetensors(source) ? load_graph(source) : onnx::load_for_training(source);
}

json describe(const std::vector<Value*>& values) {
  json list = json::array();
  for (const Value* value : values) {
    list.push_back({{"name", value->name()}, {"dtype", name_of(value->dtype())}, {"shape", value->shape().dims()}});
  }
  return list;
}

json describe_targets(const Graph& graph, const Loss& loss) {
  json list = json::array();
  for (const TensorType& type : accepted_targets(graph, loss)) {
    list.push_back({{"dtype", name_of(type.dtype)}, {"shape", type.shape.dims()}});
  }
  return list;
}

}  // namespace
}  // namespace thalweg::capi

tw_status tw_training_model(const char* source, const char* settings, const char* path, tw_result** result) {
  return thalweg::capi::guarded([&] {
    TW_REQUIRE(source != nullptr && path != nullptr && result != nullptr,
               "the source, the path or the result is a null pointer");
    auto file = thalweg::job::Settings::from_text(settings != nullptr ? settings : "", "settings");
    const auto graph = thalweg::capi::model_from(source, file);
    const thalweg::job::Training training = thalweg::job::read_training(file);
    file.finish();
    const thalweg::job::MemoryEstimate memory = thalweg::job::estimate_memory(*graph, training);
    thalweg::save_graph(*graph, path);
    const nlohmann::json text = {{"inputs", thalweg::capi::describe(graph->inputs())},
                                 {"outputs", thalweg::capi::describe(graph->outputs())},
                                 {"targets", thalweg::capi::describe_targets(*graph, training.loss)},
                                 {"batch_size", training.options.batch_size},
                                 {"memory", {{"weights", memory.weights}, {"sample", memory.sample}}}};
    *result = new tw_result{{}, text.dump()};
  });
}

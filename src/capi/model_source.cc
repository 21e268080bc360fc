// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "capi/model_source.h"

#include <fstream>

#include "thalweg/graph_file.h"
#include "thalweg/onnx.h"
#include "thalweg/zoo.h"

namespace thalweg::capi {
namespace {

constexpr const char* kZoo = "zoo:";

/// By its first bytes, since files travel under other names: the length of the header, then the header, which is JSON.
bool is_safetensors(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char begin[9] = {};
  file.read(begin, sizeof begin);
  return file && begin[8] == '{';
}

}  // namespace

std::unique_ptr<Graph> model_from(const std::string& source, job::Settings& settings) {
  if (source.starts_with(kZoo)) {
    return zoo::build(source.substr(std::string(kZoo).size()), settings.other_attributes("model"));
  }
  return is_safetensors(source) ? load_graph(source) : onnx::load_for_training(source);
}

}  // namespace thalweg::capi

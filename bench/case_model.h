// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "nn/init/deterministic.h"
#include "thalweg/graph.h"

namespace thalweg::bench {

/// The model's own arguments, and those that PyTorch takes from the input.
inline Attributes model_options(const nlohmann::json& spec) {
  Attributes result;
  for (const auto& [name, value] : spec.at("config").items()) {
    if (value.is_boolean()) {
      result.set(name, static_cast<int64_t>(value.get<bool>()));
    } else if (value.is_number_integer()) {
      result.set(name, value.get<int64_t>());
    } else if (value.is_number()) {
      result.set(name, value.get<double>());
    } else {
      result.set(name, value.get<std::vector<int64_t>>());
    }
  }
  const std::vector<int64_t> shape = spec.at("inputs")[0].at("shape");
  if (shape.size() == 4 && spec.at("model") != "lenet") result.set("image_size", shape[2]);
  if (shape.size() == 5) {
    result.set("time", shape[1]);
    result.set("height", shape[3]);
    result.set("width", shape[4]);
  }
  return result;
}

inline bool has_real_label(const nlohmann::json& spec) { return spec.at("loss") != "cross_entropy"; }

/// Batch `k`: the inputs in order, then the target.
inline std::vector<Tensor> make_batch(const nlohmann::json& spec, int k) {
  std::vector<Tensor> result;
  for (const auto& input : spec.at("inputs")) {
    const std::string name = input.at("name").get<std::string>() + "." + std::to_string(k);
    const Shape shape(input.at("shape").get<std::vector<int64_t>>());
    Tensor tensor = input.at("kind") == "uniform" ? nn::deterministic_uniform(name, shape, input.at("bound"))
                                                  : nn::deterministic_integers(name, shape, input.at("below"));
    if (input.at("name") == "label" && has_real_label(spec)) tensor = tensor.to(DType::kF32);
    result.push_back(tensor);
  }
  return result;
}

}  // namespace thalweg::bench

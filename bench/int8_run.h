// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "thalweg/model.h"

namespace thalweg::bench {

/// Writes the zoo model of a case to `path` as ONNX in int8, calibrated on the case's batches.
void write_int8_model(const nlohmann::json& spec, const std::string& path, int threads);

/// Forward passes of a zoo model that was quantised, by a process of its own: this one holds only what it measures.
class Int8Run {
 public:
  Int8Run(const std::string& name, const nlohmann::json& spec, int threads);
  void step() { outputs_ = model_.predict(inputs_); }
  double loss() const;
  std::string explain() const { return model_.explain(inputs_); }

 private:
  Model model_;
  std::vector<Tensor> inputs_, outputs_;
  Tensor labels_;
};

}  // namespace thalweg::bench

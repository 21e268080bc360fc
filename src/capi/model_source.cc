// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "capi/model_source.h"

#include "thalweg/onnx.h"
#include "thalweg/zoo.h"

namespace thalweg::capi {
namespace {

constexpr const char* kZoo = "zoo:";

}  // namespace

std::unique_ptr<Graph> model_from(const std::string& source, job::Settings& settings) {
  if (source.starts_with(kZoo)) {
    return zoo::build(source.substr(std::string(kZoo).size()), settings.other_attributes("model"));
  }
  const std::string norms = settings.text("model.train_batch_norm", "");
  return onnx::load_for_training(
      source, norms.empty() ? std::nullopt : std::optional(onnx::batch_norm_training_from_name(norms)));
}

}  // namespace thalweg::capi

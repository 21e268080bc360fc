// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "job/start_model.h"

#include "formats/onnx/import_graph.h"
#include "job/training.h"
#include "thalweg/caffe.h"
#include "thalweg/zoo.h"

namespace thalweg::job {
namespace {

constexpr const char* kZoo = "zoo:";
constexpr const char* kNorms = "model.train_batch_norm";

}  // namespace

StartModel start_model(const std::string& source, Settings& settings) {
  if (source.starts_with(kZoo)) {
    return {zoo::build(source.substr(std::string(kZoo).size()), settings.other_attributes("model")), {}};
  }
  std::optional<onnx::BatchNormTraining> norms;
  if (const std::string name = settings.text(kNorms, ""); !name.empty()) {
    norms = about(settings, kNorms, [&] { return onnx::batch_norm_training_from_name(name); });
  }
  if (caffe::is_network_file(source)) {
    return {caffe::load(source, caffe::weights_beside(source), {.batch_norms = norms}), {}};
  }
  onnx::ImportedModel model = onnx::import_for_training(source, norms);
  return {std::move(model.graph), std::move(model.metadata)};
}

std::map<std::string, std::string> with_metadata_of(const StartModel& start, std::map<std::string, std::string> own) {
  own.insert(start.metadata.begin(), start.metadata.end());
  return own;
}

}  // namespace thalweg::job

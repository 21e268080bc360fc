// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "formats/onnx/exporter.h"
#include "formats/onnx/model_writer.h"
#include "formats/onnx/training_form.h"
#include "graph/compose.h"
#include "thalweg/onnx.h"
#include "thalweg/passes.h"

namespace thalweg::onnx {
namespace {

/// The version of the file format that came with a version of the operators.
int64_t ir_version_of(int64_t opset) {
  constexpr std::pair<int64_t, int64_t> kSince[] = {{25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9}, {15, 8}};
  for (const auto& [since, version] : kSince) {
    if (opset >= since) return version;
  }
  return 7;
}

/// The versions of the operators of each domain that the nodes were written for.
void collect_opsets(const Graph& graph, std::map<std::string, int64_t>& opsets) {
  for (const auto& node : graph.nodes()) {
    const std::string& op = node->op_name();
    const bool standard = !node->op().infer;
    const std::string domain = standard ? op.substr(0, op.rfind('.')) : "onnx";
    int64_t& version = opsets[domain == "onnx" ? "" : domain];
    version = std::max(version, standard ? node->attrs().integer(ComposeContext::kOpsetAttribute) : kWrittenOpset);
    for (const auto& [name, item] : node->attrs().items()) {
      if (const auto* body = std::get_if<std::shared_ptr<Graph>>(&item)) collect_opsets(**body, opsets);
    }
  }
}

/// Of the weights that are in the file.
TrainingForm training_form_of(const Graph& graph, const GraphProto& file, Exporter::Form kind) {
  TrainingForm form;
  form.batch_norms_learn = !graph.states().empty();
  for (const TensorProto& tensor : file.initializer) {
    const Value* value = graph.find(tensor.name);
    if (value == nullptr) continue;
    if (value->kind() == Value::Kind::kParameter) {
      (value->trainable() ? form.trained : form.frozen).insert(tensor.name);
    } else if (value->kind() == Value::Kind::kState && kind == Exporter::Form::kExact) {
      form.states.insert(tensor.name);
    }
  }
  return form;
}

/// Calls `use` with the model, whose weights are there until it returns.
template <typename Use>
void with_model(const Graph& graph, const WeightReader& weight, std::map<std::string, std::string> metadata,
                Exporter::Form kind, Use&& use) {
  const std::unique_ptr<Graph> copy = graph.clone();
  if (kind == Exporter::Form::kPortable) to_portable(*copy);
  Exporter exporter(*copy, weight, kind);
  ModelProto model;
  model.graph = exporter.run();
  TrainingForm form = training_form_of(graph, model.graph, kind);
  if (kind == Exporter::Form::kExact) {
    for (const auto& [state, value] : copy->assignments()) {
      form.assignments.emplace_back(exporter.name(state), exporter.name(value));
    }
  }
  metadata[TrainingForm::kProperty] = form.to_text();
  std::map<std::string, int64_t> opsets;
  collect_opsets(*copy, opsets);
  if (opsets[""] == 0) opsets[""] = kWrittenOpset;
  const auto is_own = [](const auto& node) { return node->op().infer != nullptr; };
  if (kind == Exporter::Form::kExact && std::any_of(copy->nodes().begin(), copy->nodes().end(), is_own)) {
    opsets[kOwnDomain] = 1;
  }
  model.ir_version = ir_version_of(opsets[""]);
  model.producer_name = "Thalweg";
  for (const auto& [domain, version] : opsets) model.opset_import.push_back({domain, version});
  model.metadata_props.assign(metadata.begin(), metadata.end());
  use(std::move(model));
}

}  // namespace

void save(const Graph& graph, const std::function<Tensor(const std::string& name)>& weight, const std::string& path,
          const std::map<std::string, std::string>& metadata) {
  with_model(graph, weight, metadata, Exporter::Form::kPortable,
             [&](ModelProto model) { write_model(std::move(model), path); });
}

void save_exactly(const Graph& graph, const std::string& path,
                  const std::function<Tensor(const std::string& name)>& weight,
                  const std::map<std::string, std::string>& metadata) {
  const auto own = [&](const std::string& name) { return graph.find(name)->data(); };
  with_model(graph, weight ? weight : own, metadata, Exporter::Form::kExact,
             [&](ModelProto model) { write_model(std::move(model), path); });
}

Tensor to_bytes(const Graph& graph, const std::function<Tensor(const std::string& name)>& weight,
                const std::map<std::string, std::string>& metadata) {
  Tensor bytes;
  with_model(graph, weight, metadata, Exporter::Form::kPortable,
             [&](const ModelProto& model) { bytes = model_bytes(model); });
  return bytes;
}

}  // namespace thalweg::onnx

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/limits.h"
#include "base/text.h"
#include "formats/onnx/import_graph.h"
#include "formats/onnx/model_writer.h"
#include "infer/make_model.h"
#include "runtime/graph_runner.h"
#include "thalweg/inference.h"
#include "thalweg/input_error.h"

namespace thalweg {
namespace {

ValueDescription describe_value(const onnx::ValueInfoProto& info) {
  ValueDescription description;
  description.name = info.name;
  if (info.type.kind != onnx::TypeProto::Kind::kTensor) return description;
  description.dtype = onnx::dtype_of(info.type.elem_type);
  if (!info.type.has_shape) return description;
  std::vector<int64_t> dims;
  for (const onnx::Dimension& dimension : info.type.shape) {
    dims.push_back(dimension.value >= 0 ? dimension.value : kFree);
    description.dimension_names.push_back(dimension.param);
  }
  description.shape = Shape(std::move(dims));
  return description;
}

void count_nodes(const onnx::GraphProto& graph, ModelSummary& summary) {
  for (const onnx::NodeProto& node : graph.node) {
    ++summary.nodes;
    ++summary.operators[node.domain.empty() ? node.op_type : node.domain + "." + node.op_type];
    for (const onnx::AttributeProto& attribute : node.attribute) {
      if (attribute.g != nullptr) count_nodes(*attribute.g, summary);
    }
  }
}

/// Whether an initialiser is what people call parameters, rather than a shape, an axis or a single number.
bool is_parameter(const onnx::TensorProto& tensor) {
  const auto dtype = onnx::dtype_of(tensor.data_type);
  return dtype.has_value() && (is_floating(*dtype) || size_of(*dtype) == 1) && *dtype != DType::kBool &&
         !tensor.dims.empty();
}

ModelSummary summarize(const onnx::ModelFile& model) {
  ModelSummary summary;
  summary.name = model.proto.graph.name;
  summary.opset = model.opset("");
  summary.producer = model.proto.producer_name;
  if (!model.proto.producer_version.empty()) summary.producer += " " + model.proto.producer_version;
  count_nodes(model.proto.graph, summary);
  for (const onnx::TensorProto& tensor : model.proto.graph.initializer) {
    if (!is_parameter(tensor)) continue;
    const TensorType type = model.type(tensor);
    summary.parameters += type.shape.num_elements();
    summary.weight_bytes += static_cast<size_t>(type.shape.num_elements()) * size_of(type.dtype);
  }
  return summary;
}

/// The operator of the node that a value comes from, "" if there is none.
std::string operator_of(const onnx::GraphProto& graph, const std::string& value) {
  for (const onnx::NodeProto& node : graph.node) {
    if (std::find(node.output.begin(), node.output.end(), value) != node.output.end()) return std::string(node.op_type);
  }
  return "";
}

void require_fits(const std::string& model, const ValueDescription& declared, const Tensor& given) {
  TW_REQUIRE(given.defined(), model, ": input ", printable(declared.name), " is an empty tensor");
  bool fits = !declared.dtype.has_value() || *declared.dtype == given.dtype();
  if (declared.shape.has_value()) {
    fits = fits && declared.shape->rank() == given.shape().rank();
    for (int d = 0; fits && d < given.shape().rank(); ++d) {
      const int64_t expected = (*declared.shape)[d];
      fits = expected == kFree || expected == given.shape()[d];
    }
  }
  if (fits) return;
  const std::string dtype = declared.dtype.has_value() ? name_of(*declared.dtype) : "elements of any type";
  const std::string shape = declared.shape.has_value() ? declared.shape->to_string() : "";
  raise_input_error(model, ": input ", printable(declared.name), " takes ", dtype, shape, ", got ", given.type());
}

}  // namespace

struct InferenceModel::Impl {
  Impl(std::shared_ptr<const onnx::ModelFile> file, const InferenceOptions& options) : given_options(options) {
    TW_REQUIRE(options.max_programs > 0, "max_programs must be positive, got ", options.max_programs);
    model = std::move(file);
    max_memory = options.max_memory == 0 ? machine_memory() : options.max_memory;
    const ScopedLimits limits(max_memory, 0);
    onnx::ImportedModel imported = onnx::import_model(model);
    graph = std::move(imported.graph);
    describe_ends();
    for (const auto& [key, value] : model->proto.metadata_props) metadata[key] = value;
    const Precision precision = options.precision.value_or(declared_precision());
    summary = summarize(*model);
    summary.precision = precision;
    context.name = model->name;
    context.options = {precision, options.math, options.tuning, options.threads, options.max_programs};
    variables = std::make_shared<Variables>(std::move(imported.weights));
    runner = std::make_unique<GraphRunner>(*graph, context);
  }

  void describe_ends() {
    const onnx::GraphProto& proto = model->proto.graph;
    for (const Value* input : graph->inputs()) {
      const auto is_it = [&](const onnx::ValueInfoProto& info) { return info.name == input->name(); };
      inputs.push_back(describe_value(*std::find_if(proto.input.begin(), proto.input.end(), is_it)));
    }
    for (const onnx::ValueInfoProto& info : proto.output) {
      outputs.push_back(describe_value(info));
      outputs.back().made_by = operator_of(proto, info.name);
    }
  }

  Precision declared_precision() const {
    const auto found = metadata.find("thalweg.precision");
    if (found == metadata.end()) return Precision::kF32;
    try {
      return precision_from_name(found->second);
    } catch (const Error& error) {
      raise(model->name, ": metadata property thalweg.precision: ", error.what());
    }
  }

  std::vector<Tensor> run(const std::vector<Tensor>& given, std::vector<ProgramProfile>* profile) const {
    const ScopedLimits limits(max_memory, given_options.max_seconds);
    if (given.size() != inputs.size()) {
      raise_input_error(model->name, ": the model takes ", inputs.size(), " inputs, got ", given.size());
    }
    for (size_t i = 0; i < given.size(); ++i) require_fits(model->name, inputs[i], given[i]);
    return runner->run(given, profile);
  }

  InferenceOptions given_options;
  size_t max_memory = 0;
  std::shared_ptr<const onnx::ModelFile> model;
  std::unique_ptr<Graph> graph;
  std::shared_mutex weights_mutex;
  std::shared_ptr<Variables> variables;
  RunnerContext context{{}, {}, variables, weights_mutex};
  std::unique_ptr<GraphRunner> runner;
  std::vector<ValueDescription> inputs, outputs;
  std::map<std::string, std::string> metadata;
  ModelSummary summary;
};

InferenceModel::InferenceModel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
InferenceModel::InferenceModel(InferenceModel&&) noexcept = default;
InferenceModel& InferenceModel::operator=(InferenceModel&&) noexcept = default;
InferenceModel::~InferenceModel() = default;

InferenceModel make_inference_model(std::shared_ptr<const onnx::ModelFile> model, const InferenceOptions& options) {
  return InferenceModel(std::make_unique<InferenceModel::Impl>(std::move(model), options));
}

InferenceModel InferenceModel::load(const std::string& path, const InferenceOptions& options) {
  return make_inference_model(onnx::open_model(path), options);
}

InferenceModel InferenceModel::load_bytes(std::string bytes, const InferenceOptions& options) {
  return make_inference_model(onnx::open_model_bytes(std::move(bytes)), options);
}

const std::vector<ValueDescription>& InferenceModel::inputs() const { return impl_->inputs; }
const std::vector<ValueDescription>& InferenceModel::outputs() const { return impl_->outputs; }
const ModelSummary& InferenceModel::summary() const { return impl_->summary; }
const InferenceOptions& InferenceModel::options() const { return impl_->given_options; }
const std::map<std::string, std::string>& InferenceModel::metadata() const { return impl_->metadata; }

std::vector<Tensor> InferenceModel::run(const std::vector<Tensor>& inputs) const { return impl_->run(inputs, nullptr); }

void InferenceModel::save(const std::string& path) const { onnx::write_model(*impl_->model, path); }

std::vector<ProgramProfile> InferenceModel::profile(const std::vector<Tensor>& inputs) const {
  std::vector<ProgramProfile> parts;
  impl_->run(inputs, &parts);
  return parts;
}

std::string InferenceModel::explain(const std::vector<Tensor>& inputs) const {
  std::string text;
  for (const ProgramProfile& part : profile(inputs)) text += to_string(part);
  return text;
}

}  // namespace thalweg

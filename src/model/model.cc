// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/model.h"

#include <algorithm>
#include <mutex>

#include "base/limits.h"
#include "base/text.h"
#include "model/describe.h"
#include "model/model_impl.h"
#include "optim/groups.h"
#include "thalweg/caffe.h"
#include "thalweg/input_error.h"

namespace thalweg {
namespace {

std::vector<Value*> weights_of(const Graph& graph) {
  std::vector<Value*> all = graph.parameters();
  all.insert(all.end(), graph.states().begin(), graph.states().end());
  return all;
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

/// The largest piece of memory that it may ask for.
size_t memory_of(const InferenceOptions& options) {
  return options.max_memory == 0 ? machine_memory() : options.max_memory;
}

void free_batch_of(Value* value, ValueDescription& description) {
  if (!value->typed() || value->shape().rank() == 0) return;
  TensorType type = value->type();
  type.shape[0] = kFree;
  description.shape = type.shape;
  value->declare(std::move(type));
}

}  // namespace

Model::Impl::Impl(std::unique_ptr<Graph> model_graph, const InferenceOptions& given) : graph(std::move(model_graph)) {
  TW_REQUIRE(graph != nullptr, "a model needs a graph");
  TW_REQUIRE(!graph->outputs().empty(), "graph '", graph->name(), "' has no output: mark one with mark_output");
  graph->verify();
  name = "graph '" + graph->name() + "'";
  variables = std::make_shared<Variables>(*graph);
  start(given);
}

Model::Impl::Impl(onnx::ImportedModel imported, const InferenceOptions& given)
    : graph(std::move(imported.graph)),
      variables(std::make_shared<Variables>(std::move(imported.weights))),
      name(std::move(imported.name)),
      producer(std::move(imported.producer)),
      opset(imported.opset),
      metadata(std::move(imported.metadata)) {
  start(given);
  name_dimensions(inputs, imported.dimension_names);
  name_dimensions(outputs, imported.dimension_names);
}

void Model::Impl::start(const InferenceOptions& given) {
  context.name = name;
  inputs = describe_values(graph->inputs());
  outputs = describe_values(graph->outputs());
  runner = std::make_unique<GraphRunner>(*graph, context);
  set_options(given);
}

Precision Model::Impl::precision() const {
  if (options.precision.has_value()) return *options.precision;
  const auto declared = metadata.find("thalweg.precision");
  if (declared == metadata.end()) return Precision::kF32;
  try {
    return precision_from_name(declared->second);
  } catch (const Error& error) {
    raise(name, ": metadata property thalweg.precision: ", error.what());
  }
}

void Model::Impl::set_options(const InferenceOptions& given) {
  TW_REQUIRE(given.max_programs > 0, "max_programs must be positive, got ", given.max_programs);
  options = given;
  const Tuning usual = opset > 0 ? Tuning::kMeasured : Tuning::kFixed;
  context.options = {precision(), given.math, given.tuning.value_or(usual), given.threads, given.max_programs};
  runner->clear();
}

std::vector<Tensor> Model::Impl::run(const std::vector<Tensor>& given, std::vector<ProgramProfile>* profile) const {
  const ScopedLimits limits(memory_of(options), options.max_seconds);
  if (given.size() != inputs.size()) {
    raise_input_error(name, ": the model takes ", inputs.size(), " inputs, got ", given.size());
  }
  for (size_t i = 0; i < given.size(); ++i) require_fits(name, inputs[i], given[i]);
  return runner->run(given, profile);
}

void Model::Impl::own_weights() {
  if (!variables->stores_elsewhere()) return;
  runner->clear();
  for (Value* value : weights_of(*graph)) value->set_data(content(value));
  variables = std::make_shared<Variables>(*graph);
}

void Model::Impl::release_layouts() {
  if (layouts_are_for_training) return;
  layouts_are_for_training = true;
  own_weights();
  if (runner->num_compiled() == 0) return;
  runner->clear();
  for (Value* value : weights_of(*graph)) value->set_data(content(value));
  variables = std::make_shared<Variables>(*graph);
}

void Model::Impl::free_batch() {
  const std::unique_lock<std::shared_mutex> lock(weights_mutex);
  for (size_t i = 0; i < inputs.size(); ++i) free_batch_of(graph->inputs()[i], inputs[i]);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (graph->outputs()[i]->kind() == Value::Kind::kComputed) free_batch_of(graph->outputs()[i], outputs[i]);
  }
}

int Model::Impl::set_trainable(const std::string& pattern, bool trainable) {
  const std::unique_lock<std::shared_mutex> lock(weights_mutex);
  int matches = 0;
  std::vector<std::string> names;
  for (Value* parameter : graph->parameters()) {
    names.push_back(parameter->name());
    if (!optim::matches_pattern(pattern, parameter->name())) continue;
    parameter->set_trainable(trainable);
    ++matches;
  }
  TW_REQUIRE(matches > 0, "no parameter matches '", pattern, "'; nearest: ", nearest_names(pattern, names));
  ++trainable_version;
  return matches;
}

Model make_model(onnx::ImportedModel imported, const InferenceOptions& options) {
  return Model(std::make_unique<Model::Impl>(std::move(imported), options));
}

Model::Model(std::unique_ptr<Graph> graph, const InferenceOptions& options)
    : impl_(std::make_unique<Impl>(std::move(graph), options)) {}
Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Model Model::load(const std::string& path, const InferenceOptions& options) {
  if (caffe::is_network_file(path)) {
    const std::string weights = caffe::weights_beside(path);
    TW_REQUIRE(!weights.empty(), path, ": is a Caffe network, and no file with its weights lies beside it under the ",
               "same name with the ending .caffemodel");
    return load_caffe(path, weights, options);
  }
  const ScopedLimits limits(memory_of(options), 0);
  return make_model(onnx::import_model(onnx::open_model(path), options.train_batch_norm), options);
}

Model Model::load_caffe(const std::string& network, const std::string& weights, const InferenceOptions& options) {
  const ScopedLimits limits(memory_of(options), 0);
  auto impl = std::make_unique<Impl>(caffe::load(network, weights, {.batch_norms = options.train_batch_norm}), options);
  impl->name = impl->context.name = network;
  return Model(std::move(impl));
}

Model Model::load_bytes(std::string bytes, const InferenceOptions& options) {
  const ScopedLimits limits(memory_of(options), 0);
  return make_model(onnx::import_model(onnx::open_model_bytes(std::move(bytes)), options.train_batch_norm), options);
}

const Graph& Model::graph() const { return *impl_->graph; }
const std::vector<ValueDescription>& Model::inputs() const { return impl_->inputs; }
const std::vector<ValueDescription>& Model::outputs() const { return impl_->outputs; }
const std::map<std::string, std::string>& Model::metadata() const { return impl_->metadata; }

ModelSummary Model::summary() const {
  const std::shared_lock<std::shared_mutex> lock(impl_->weights_mutex);
  return summarize(*impl_);
}

InferenceOptions Model::options() const {
  const std::shared_lock<std::shared_mutex> lock(impl_->weights_mutex);
  return impl_->options;
}

void Model::set_options(const InferenceOptions& options) {
  const std::unique_lock<std::shared_mutex> lock(impl_->weights_mutex);
  impl_->set_options(options);
}

std::vector<Tensor> Model::predict(const std::vector<Tensor>& inputs) const { return impl_->run(inputs, nullptr); }

std::vector<ProgramProfile> Model::profile(const std::vector<Tensor>& inputs) const {
  std::vector<ProgramProfile> segments;
  impl_->run(inputs, &segments);
  return segments;
}

std::string Model::explain(const std::vector<Tensor>& inputs) const {
  std::string text;
  for (const ProgramProfile& segment : profile(inputs)) text += to_string(segment);
  return text;
}

std::vector<std::string> Model::weight_names() const {
  std::vector<std::string> names;
  for (const Value* value : weights_of(*impl_->graph)) names.push_back(value->name());
  return names;
}

Tensor Model::weight(const std::string& name) const {
  const std::shared_lock<std::shared_mutex> lock(impl_->weights_mutex);
  return impl_->variables->read(impl_->variables->index(name));
}

void Model::set_weight(const std::string& name, const Tensor& value) {
  const std::unique_lock<std::shared_mutex> lock(impl_->weights_mutex);
  impl_->own_weights();
  impl_->variables->write(impl_->variables->index(name), value);
}

int Model::freeze(const std::string& pattern) { return impl_->set_trainable(pattern, false); }
int Model::unfreeze(const std::string& pattern) { return impl_->set_trainable(pattern, true); }

}  // namespace thalweg

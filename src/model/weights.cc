// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "model/weights.h"

#include <mutex>
#include <sstream>

#include "thalweg/onnx.h"

namespace thalweg {

std::vector<NamedTensor> read_weights(const Model::Impl& model) {
  std::vector<NamedTensor> result;
  for (size_t i = 0; i < model.variables->size(); ++i) {
    result.push_back({model.variables->name(i), model.variables->read(i)});
  }
  return result;
}

namespace {

bool fits(const TensorType& have, const TensorType& want) {
  return have.shape == want.shape && (have.dtype == want.dtype || (is_floating(have.dtype) && is_floating(want.dtype)));
}

/// Every way in which weights and a model disagree, for one message.
class Differences {
 public:
  void missing(const std::string& name, const TensorType& type) { line(missing_, "missing", name) << type; }
  void unexpected(const std::string& name, const TensorType& type) { line(unexpected_, "unexpected", name) << type; }
  void mismatch(const std::string& name, const TensorType& given, const TensorType& model) {
    line(mismatched_, "mismatch", name) << given << " given, " << model << " in the model";
  }
  void throw_if_any(const std::string& path, const std::string& model) const {
    const int count = missing_ + unexpected_ + mismatched_;
    TW_REQUIRE(count == 0, path, ": these are not the weights of '", model, "' (", missing_, " missing, ", unexpected_,
               " unexpected, ", mismatched_, " of another type):", text_.str());
  }

 private:
  std::ostream& line(int& counter, const char* what, const std::string& name) {
    ++counter;
    return text_ << "\n  " << what << " '" << name << "': ";
  }
  std::ostringstream text_;
  int missing_ = 0, unexpected_ = 0, mismatched_ = 0;
};

/// Weights in memory, with the members of a SafetensorsFile that matter here.
class GivenWeights {
 public:
  explicit GivenWeights(const std::map<std::string, Tensor>& weights) : weights_(weights) {}
  std::string path() const { return "the weights given"; }
  bool contains(const std::string& name) const { return weights_.count(name) > 0; }
  TensorType type(const std::string& name) const { return weights_.at(name).type(); }
  Tensor load(const std::string& name) const { return weights_.at(name); }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : weights_) names.push_back(name);
    return names;
  }

 private:
  const std::map<std::string, Tensor>& weights_;
};

/// PyTorch's batch normalisation saves how often it was trained, which no model here depends on: files may lack it.
bool counts_batches(std::string_view name) { return name.ends_with("num_batches_tracked"); }

template <typename Source>
std::vector<NamedTensor> match(const Model::Impl& model, const Source& source, bool strict) {
  const Variables& variables = *model.variables;
  Differences differences;
  for (size_t i = 0; i < variables.size(); ++i) {
    const std::string& name = variables.name(i);
    if (!source.contains(name)) {
      if (strict && !counts_batches(name)) differences.missing(name, variables.type(i));
    } else if (!fits(source.type(name), variables.type(i))) {
      differences.mismatch(name, source.type(name), variables.type(i));
    }
  }
  for (const std::string& name : source.names()) {
    if (strict && !variables.contains(name) && !counts_batches(name)) differences.unexpected(name, source.type(name));
  }
  differences.throw_if_any(source.path(), model.graph->name());
  std::vector<NamedTensor> result;
  for (size_t i = 0; i < variables.size(); ++i) {
    const std::string& name = variables.name(i);
    if (source.contains(name)) result.push_back({name, source.load(name).to(variables.type(i).dtype)});
  }
  TW_REQUIRE(!result.empty() || variables.size() == 0, source.path(), ": holds none of the weights of '",
             model.graph->name(), "'");
  return result;
}

/// What the model came with, and over it what is given.
std::map<std::string, std::string> merged(const Model::Impl& model, const std::map<std::string, std::string>& given) {
  std::map<std::string, std::string> metadata = given;
  metadata.insert(model.metadata.begin(), model.metadata.end());
  return metadata;
}

std::function<Tensor(const std::string&)> reader_of(const Model::Impl& model) {
  const Variables& variables = *model.variables;
  return [&variables](const std::string& name) { return variables.read(variables.index(name)); };
}

}  // namespace

std::vector<NamedTensor> matching_weights(const Model::Impl& model, const SafetensorsFile& file, bool strict) {
  return match(model, file, strict);
}

void write_weights(Model::Impl& model, const std::vector<NamedTensor>& weights) {
  model.own_weights();
  for (const NamedTensor& weight : weights) model.variables->write(model.variables->index(weight.name), weight.tensor);
}

void Model::save_weights(const std::string& path) const {
  std::vector<NamedTensor> weights;
  {
    const std::shared_lock<std::shared_mutex> lock(impl_->weights_mutex);
    weights = read_weights(*impl_);
  }
  save_safetensors(path, weights, {{"model", impl_->graph->name()}});
}

void Model::save(const std::string& path, const std::map<std::string, std::string>& metadata) const {
  const std::shared_lock<std::shared_mutex> lock(impl_->weights_mutex);
  onnx::save(*impl_->graph, reader_of(*impl_), path, merged(*impl_, metadata));
}

Tensor Model::to_onnx(const std::map<std::string, std::string>& metadata) const {
  const std::shared_lock<std::shared_mutex> lock(impl_->weights_mutex);
  return onnx::to_bytes(*impl_->graph, reader_of(*impl_), merged(*impl_, metadata));
}

void Model::load_weights(const std::string& path, bool strict) {
  const SafetensorsFile file(path);
  const std::unique_lock<std::shared_mutex> lock(impl_->weights_mutex);
  write_weights(*impl_, matching_weights(*impl_, file, strict));
}

void Model::set_weights(const std::map<std::string, Tensor>& weights, bool strict) {
  const std::unique_lock<std::shared_mutex> lock(impl_->weights_mutex);
  write_weights(*impl_, match(*impl_, GivenWeights(weights), strict));
}

}  // namespace thalweg

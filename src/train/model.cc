// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/model.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "base/text.h"
#include "optim/groups.h"
#include "thalweg/input_error.h"
#include "train/model_impl.h"

namespace thalweg {
namespace {

std::vector<Value*> weights_of(const Graph& graph) {
  std::vector<Value*> all = graph.parameters();
  all.insert(all.end(), graph.states().begin(), graph.states().end());
  return all;
}

}  // namespace

Model::Impl::Impl(std::unique_ptr<Graph> model_graph, const PredictOptions& options) : graph(std::move(model_graph)) {
  TW_REQUIRE(graph != nullptr, "a model needs a graph");
  TW_REQUIRE(!graph->outputs().empty(), "graph '", graph->name(), "' has no output: mark one with mark_output");
  graph->verify();
  context.name = "graph '" + graph->name() + "'";
  variables = std::make_shared<Variables>(*graph);
  runner = std::make_unique<GraphRunner>(*graph, context);
  set_options(options);
}

void Model::Impl::set_options(const PredictOptions& options) {
  TW_REQUIRE(options.max_programs > 0, "max_programs must be positive, got ", options.max_programs);
  predict_options = options;
  context.options = {options.precision, options.math, options.tuning, options.threads, options.max_programs};
  runner->clear();
}

std::vector<Tensor> Model::Impl::run(const std::vector<Tensor>& inputs, std::vector<ProgramProfile>* profile) {
  if (inputs.size() != graph->inputs().size()) {
    raise_input_error("graph '", graph->name(), "' has ", graph->inputs().size(), " inputs, got ", inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    TW_REQUIRE(inputs[i].defined(), "input ", i, " is an empty tensor");
    graph->require_fits(i, inputs[i].type());
  }
  return runner->run(inputs, profile);
}

void Model::Impl::release_layouts() {
  if (layouts_are_for_training) return;
  layouts_are_for_training = true;
  if (runner->num_compiled() == 0) return;
  runner->clear();
  for (Value* value : weights_of(*graph)) value->set_data(content(value));
  variables = std::make_shared<Variables>(*graph);
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

Model::Model(std::unique_ptr<Graph> graph, const PredictOptions& options)
    : impl_(std::make_unique<Impl>(std::move(graph), options)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

const Graph& Model::graph() const { return *impl_->graph; }

PredictOptions Model::predict_options() const {
  const std::shared_lock<std::shared_mutex> lock(impl_->weights_mutex);
  return impl_->predict_options;
}

void Model::set_predict_options(const PredictOptions& options) {
  const std::unique_lock<std::shared_mutex> lock(impl_->weights_mutex);
  impl_->set_options(options);
}

std::vector<Tensor> Model::predict(const std::vector<Tensor>& inputs) { return impl_->run(inputs, nullptr); }

std::string Model::explain(const std::vector<Tensor>& inputs) {
  std::vector<ProgramProfile> parts;
  impl_->run(inputs, &parts);
  std::string text;
  for (const ProgramProfile& part : parts) text += to_string(part);
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
  impl_->variables->write(impl_->variables->index(name), value);
}

int Model::freeze(const std::string& pattern) { return impl_->set_trainable(pattern, false); }
int Model::unfreeze(const std::string& pattern) { return impl_->set_trainable(pattern, true); }

namespace {

std::string with_commas(int64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<int64_t>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<size_t>(at), ",");
  return text;
}

std::string pad(const std::string& text, size_t width, bool right = false) {
  const std::string fill(width > text.size() ? width - text.size() : 0, ' ');
  return right ? fill + text : text + fill;
}

}  // namespace

std::string Model::summary() const {
  const std::shared_lock<std::shared_mutex> lock(impl_->weights_mutex);
  std::vector<std::array<std::string, 4>> rows = {{"weight", "shape", "count", "trained"}};
  int64_t trained = 0, frozen = 0, states = 0, bytes = 0;
  for (const Value* value : weights_of(*impl_->graph)) {
    const int64_t count = value->shape().num_elements();
    const bool is_state = value->kind() == Value::Kind::kState;
    (is_state ? states : value->trainable() ? trained : frozen) += count;
    bytes += count * static_cast<int64_t>(size_of(value->dtype()));
    rows.push_back({value->name(), value->shape().to_string(), with_commas(count),
                    is_state             ? "state"
                    : value->trainable() ? "yes"
                                         : "frozen"});
  }
  std::array<size_t, 4> width{};
  for (const auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  }
  std::string text = impl_->graph->name() + "\n";
  for (const auto& row : rows) {
    text += "  " + pad(row[0], width[0]) + "  " + pad(row[1], width[1]) + "  " + pad(row[2], width[2], true) + "  " +
            row[3] + "\n";
  }
  return text + "parameters: " + with_commas(trained + frozen) + " (" + with_commas(trained) + " trained, " +
         with_commas(frozen) + " frozen), states: " + with_commas(states) + ", " +
         human_bytes(static_cast<double>(bytes)) + "\n";
}

}  // namespace thalweg

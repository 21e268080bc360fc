// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "model/describe.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>

#include "base/text.h"
#include "graph/meaning.h"
#include "thalweg/stored_types.h"

namespace thalweg {
namespace {

void count_nodes(const Graph& graph, ModelSummary& summary) {
  for (const auto& node : graph.nodes()) {
    ++summary.nodes;
    ++summary.operators[name_in_files(node->op())];
    for (const auto& [name, item] : node->attrs().items()) {
      if (const auto* body = std::get_if<std::shared_ptr<Graph>>(&item)) count_nodes(**body, summary);
    }
  }
}

void count_weight(const TensorType& type, ModelSummary& summary) {
  summary.parameters += type.shape.num_elements();
  summary.weight_bytes += static_cast<size_t>(type.shape.num_elements()) * size_of(type.dtype);
}

/// Rather than a shape, an axis or a single number.
bool holds_weights(const Value* constant) {
  const DType dtype = constant->dtype();
  if (stored::is_object(dtype)) return false;
  return (is_floating(dtype) || size_of(dtype) == 1) && dtype != DType::kBool && constant->shape().rank() > 0;
}

}  // namespace

std::vector<ValueDescription> describe_values(const std::vector<Value*>& values) {
  std::vector<ValueDescription> descriptions;
  for (const Value* value : values) {
    ValueDescription& description = descriptions.emplace_back();
    description.name = value->name();
    if (value->typed()) {
      description.dtype = value->dtype();
      description.shape = value->shape();
      description.dimension_names.resize(static_cast<size_t>(value->shape().rank()));
    }
    if (value->producer() == nullptr) continue;
    description.made_by = name_in_files(value->producer()->op());
    std::transform(description.made_by.begin(), description.made_by.end(), description.made_by.begin(),
                   [](unsigned char letter) { return std::tolower(letter); });
  }
  return descriptions;
}

void name_dimensions(std::vector<ValueDescription>& values,
                     const std::map<std::string, std::vector<std::string>>& names) {
  for (ValueDescription& value : values) {
    const auto found = names.find(value.name);
    if (found != names.end() && found->second.size() == value.dimension_names.size()) {
      value.dimension_names = found->second;
    }
  }
}

ModelSummary summarize(const Model::Impl& model) {
  ModelSummary summary;
  summary.name = model.graph->name();
  summary.opset = model.opset;
  summary.producer = model.producer;
  count_nodes(*model.graph, summary);
  for (size_t i = 0; i < model.variables->size(); ++i) count_weight(model.variables->type(i), summary);
  for (const Value* constant : model.graph->constants()) {
    if (holds_weights(constant)) count_weight(constant->type(), summary);
  }
  summary.precision = model.precision();
  return summary;
}

std::string to_string(const ValueDescription& value) {
  const std::string type = value.name + " " + (value.dtype.has_value() ? name_of(*value.dtype) : "?");
  if (!value.shape.has_value()) return type + "[...]";
  std::vector<std::string> dims;
  for (int d = 0; d < value.shape->rank(); ++d) {
    const int64_t dim = (*value.shape)[d];
    const std::string& name = value.dimension_names[static_cast<size_t>(d)];
    dims.push_back(dim != kFree ? std::to_string(dim) : name.empty() ? "?" : name);
  }
  return type + "[" + join(dims, ", ") + "]";
}

std::string describe(const Model& model) {
  const ModelSummary summary = model.summary();
  std::ostringstream out;
  if (summary.opset > 0) out << "opset " << summary.opset << ", " << summary.producer << '\n';
  for (const ValueDescription& input : model.inputs()) out << "  input  " << to_string(input) << '\n';
  for (const ValueDescription& output : model.outputs()) out << "  output " << to_string(output) << '\n';
  for (const auto& [key, value] : model.metadata()) out << "  metadata " << key << ": " << printable(value) << '\n';
  std::vector<std::string> operators;
  for (const auto& [name, count] : summary.operators) operators.push_back(std::to_string(count) + " " + name);
  out << summary.nodes << " nodes: " << join(operators, ", ") << '\n'
      << summary.parameters << " parameters, " << human_bytes(static_cast<double>(summary.weight_bytes)) << '\n';
  return out.str();
}

namespace {

std::string with_commas(int64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text.push_back(',');
    text.push_back(digits[i]);
  }
  return text;
}

std::string pad(const std::string& text, size_t width, bool right = false) {
  const std::string fill(width > text.size() ? width - text.size() : 0, ' ');
  return right ? fill + text : text + fill;
}

}  // namespace

std::string Model::weight_table() const {
  const std::shared_lock<std::shared_mutex> lock(impl_->weights_mutex);
  std::vector<std::array<std::string, 4>> rows = {{"weight", "shape", "count", "trained"}};
  int64_t trained = 0, frozen = 0, states = 0, bytes = 0;
  std::vector<Value*> weights = impl_->graph->parameters();
  weights.insert(weights.end(), impl_->graph->states().begin(), impl_->graph->states().end());
  for (const Value* value : weights) {
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
    const std::vector<std::string> cells = {"", pad(row[0], width[0]), pad(row[1], width[1]),
                                            pad(row[2], width[2], true), row[3]};
    text += join(cells, "  ") + "\n";
  }
  return text + "parameters: " + with_commas(trained + frozen) + " (" + with_commas(trained) + " trained, " +
         with_commas(frozen) + " frozen), states: " + with_commas(states) + ", " +
         human_bytes(static_cast<double>(bytes)) + "\n";
}

}  // namespace thalweg

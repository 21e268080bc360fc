// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "base/text.h"
#include "thalweg/inference.h"

namespace thalweg {

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

std::string describe(const InferenceModel& model) {
  const ModelSummary& summary = model.summary();
  std::ostringstream out;
  out << "opset " << summary.opset << ", " << summary.producer << '\n';
  for (const ValueDescription& input : model.inputs()) out << "  input  " << to_string(input) << '\n';
  for (const ValueDescription& output : model.outputs()) out << "  output " << to_string(output) << '\n';
  for (const auto& [key, value] : model.metadata()) out << "  metadata " << key << ": " << printable(value) << '\n';
  std::vector<std::string> operators;
  for (const auto& [name, count] : summary.operators) operators.push_back(std::to_string(count) + " " + name);
  out << summary.nodes << " nodes: " << join(operators, ", ") << '\n'
      << summary.parameters << " parameters, " << human_bytes(static_cast<double>(summary.weight_bytes)) << '\n';
  return out.str();
}

}  // namespace thalweg

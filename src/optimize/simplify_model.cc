// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "optimize/simplify_model.h"

#include <algorithm>
#include <cmath>

namespace thalweg {
namespace {

using onnx::NodeProto;

bool is_op(const NodeProto& node, const char* op) {
  return node.op_type == op && onnx::normal_domain(node.domain).empty();
}

/// The batch norm's statistics and scales by channel; empty if they are not all fixed.
std::vector<Tensor> norm_parameters(const ModelEditor& model, const NodeProto& norm) {
  if (norm.input.size() != 5 || norm.output.size() != 1 || integer_attribute(norm, "training_mode", 0) != 0) return {};
  std::vector<Tensor> parameters;
  for (size_t i = 1; i < 5; ++i) {
    parameters.push_back(model.weight(norm.input[i]));
    if (!parameters.back().defined()) return {};
  }
  return parameters;
}

/// Takes the batch norm into the convolution; false if that cannot be done.
bool fold_norm(ModelEditor& model, const NodeProto& norm) {
  NodeProto* conv = model.producer(norm.input[0]);
  if (conv == nullptr || !is_op(*conv, "Conv") || model.readers(norm.input[0]).size() != 1) return false;
  const std::vector<Tensor> parameters = norm_parameters(model, norm);
  const Tensor weight = model.weight(conv->input[1]);
  const bool has_bias = conv->input.size() > 2 && !conv->input[2].empty();
  const Tensor bias = has_bias ? model.weight(conv->input[2]) : Tensor();
  if (parameters.empty() || !weight.defined() || (has_bias && !bias.defined())) return false;
  const int64_t channels = weight.shape()[0];
  const bool fits = std::all_of(parameters.begin(), parameters.end(),
                                [&](const Tensor& tensor) { return tensor.num_elements() == channels; });
  if (!fits || (has_bias && bias.num_elements() != channels)) return false;
  const double epsilon = float_attribute(norm, "epsilon", 1e-5f);
  Tensor scaled = weight.clone();
  Tensor shifted(DType::kF32, {channels});
  const int64_t row = channels > 0 ? weight.num_elements() / channels : 0;
  for (int64_t c = 0; c < channels; ++c) {
    const auto at = [&](size_t i) { return static_cast<double>(parameters[i].data<float>()[c]); };
    const double factor = at(0) / std::sqrt(at(3) + epsilon);
    for (int64_t k = 0; k < row; ++k) {
      float& element = scaled.data<float>()[c * row + k];
      element = static_cast<float>(element * factor);
    }
    const double start = has_bias ? bias.data<float>()[c] : 0.0;
    shifted.data<float>()[c] = static_cast<float>((start - at(2)) * factor + at(1));
  }
  const std::string wanted = conv->input[1];
  conv->input = {conv->input[0], model.add_initializer(wanted + "_folded", scaled),
                 model.add_initializer(wanted + "_bias", shifted)};
  conv->output[0] = norm.output[0];
  return true;
}

/// Readers of what `node` passes on read its input instead; false if some cannot.
bool bypass(ModelEditor& model, const NodeProto& node) {
  if (node.output.empty() || node.input.empty()) return false;
  for (size_t i = 1; i < node.output.size(); ++i) {
    if (!node.output[i].empty() && !model.readers(node.output[i]).empty()) return false;
  }
  const std::vector<int> readers = model.readers(node.output[0]);
  if (std::find(readers.begin(), readers.end(), -1) != readers.end()) return false;
  for (const int reader : readers) {
    auto& inputs = model.graph().node[static_cast<size_t>(reader)].input;
    std::replace(inputs.begin(), inputs.end(), node.output[0], node.input[0]);
  }
  return true;
}

bool passes_on(const NodeProto& node) {
  // A Dropout whose third input says so trains.
  return is_op(node, "Identity") || (is_op(node, "Dropout") && node.input.size() < 3);
}

}  // namespace

void simplify_model(ModelEditor& model) {
  std::vector<bool> dead(model.graph().node.size(), false);
  for (size_t i = 0; i < dead.size(); ++i) {
    const NodeProto node = model.graph().node[i];
    if (passes_on(node)) dead[i] = bypass(model, node);
    if (is_op(node, "BatchNormalization")) dead[i] = fold_norm(model, node);
  }
  model.remove_nodes([&](size_t i) { return dead[i]; });
  model.remove_unread_initializers();
}

}  // namespace thalweg

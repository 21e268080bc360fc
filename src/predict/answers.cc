// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/classification.h"
#include "ops/ids.h"
#include "thalweg/predictor.h"

namespace thalweg {
namespace {

/// Files call operators "LogSoftmax", of which `made_by` keeps the letters, and the engine "log_softmax".
bool is_operator(const std::string& made_by, OpId op) {
  std::string name = op;
  std::erase(name, '_');
  return made_by == op || made_by == name;
}

}  // namespace

Predictor::Predictor(const Model& model) : model_(model), metadata_(data::metadata_from(model.metadata())) {
  TW_REQUIRE(!model.inputs().empty() && !model.outputs().empty(), "the model has no inputs or no outputs");
}

bool Predictor::gives_rows() const {
  const ValueDescription& input = model_.inputs()[0];
  if (!input.shape.has_value() || input.shape->rank() == 0) return false;
  const auto name_of_rows = [](const ValueDescription& value) {
    return value.dimension_names.empty() ? std::string() : value.dimension_names[0];
  };
  return std::all_of(model_.outputs().begin(), model_.outputs().end(), [&](const ValueDescription& output) {
    if (!output.shape.has_value() || output.shape->rank() == 0) return false;
    if ((*output.shape)[0] != (*input.shape)[0]) return false;
    const std::string given = name_of_rows(input), made = name_of_rows(output);
    return given.empty() || made.empty() || given == made;
  });
}

bool Predictor::gives_classes() const {
  const ValueDescription& output = model_.outputs()[0];
  if (output.shape.has_value() && (output.shape->rank() < 1 || output.shape->rank() > 2)) return false;
  const bool has_columns = output.shape.has_value() && output.shape->rank() == 2 && (*output.shape)[1] != kFree;
  const int64_t columns = has_columns ? (*output.shape)[1] : kFree;
  if (!metadata_.class_names.empty()) {
    const auto names = static_cast<int64_t>(metadata_.class_names.size());
    return columns == kFree ? true : columns == names || (columns == 1 && names == 2);
  }
  return columns > 1 && (is_operator(output.made_by, op::kSoftmax) || is_operator(output.made_by, op::kLogSoftmax));
}

Tensor Predictor::probabilities(const Tensor& output) const {
  return classify(output, model_.outputs()[0].made_by).probabilities;
}

std::string Predictor::class_name(int64_t index) const {
  const auto place = static_cast<size_t>(index);
  return place < metadata_.class_names.size() ? metadata_.class_names[place] : std::to_string(index);
}

std::vector<RankedClass> largest(const Tensor& values, int64_t count) {
  const Tensor numbers = values.to(DType::kF64);
  const double* scores = numbers.data<double>();
  std::vector<int64_t> order(static_cast<size_t>(numbers.num_elements()));
  std::iota(order.begin(), order.end(), 0);
  const auto shown = std::min(static_cast<ptrdiff_t>(count), static_cast<ptrdiff_t>(order.size()));
  // NaN compares with nothing: it goes last, or the order would be none.
  const auto before = [&](int64_t a, int64_t b) {
    if (std::isnan(scores[a]) || std::isnan(scores[b])) return !std::isnan(scores[a]) && std::isnan(scores[b]);
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + shown, order.end(), before);
  std::vector<RankedClass> top;
  for (ptrdiff_t i = 0; i < shown; ++i) {
    const int64_t index = order[static_cast<size_t>(i)];
    top.push_back({index, scores[index]});
  }
  return top;
}

}  // namespace thalweg

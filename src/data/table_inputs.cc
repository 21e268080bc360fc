// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/table_inputs.h"

#include <algorithm>

#include "base/text.h"
#include "thalweg/input_error.h"

namespace thalweg::data {
namespace {

std::vector<std::string> joined(const std::vector<std::vector<std::string>>& lists) {
  std::vector<std::string> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_flat(const TableInput& input) { return input.type.shape.rank() == 1; }

void check_width(const TableInput& input, size_t count) {
  const Shape& shape = input.type.shape;
  if (shape.rank() != 1 && shape.rank() != 2) {
    raise_input_error("input ", printable(input.name), " has ", shape.rank(),
                      " dimensions, which columns of a table do not fill");
  }
  const int64_t wanted = is_flat(input) ? 1 : shape[1];
  if (count == 0 || (wanted != kFree && wanted != static_cast<int64_t>(count))) {
    raise_input_error("input ", printable(input.name), " takes ",
                      wanted == kFree ? std::string("some") : std::to_string(wanted), " columns, there are ", count,
                      " for it");
  }
}

}  // namespace

TableInputs::TableInputs(const ModelMetadata& metadata, std::vector<TableInput> inputs,
                         std::vector<std::vector<std::string>> columns)
    : features_(metadata.features.value_or(Features())),
      inputs_(std::move(inputs)),
      columns_(columns.empty() ? metadata.columns : std::move(columns)) {
  if (columns_.empty() && inputs_.size() > 1) {
    for (const TableInput& input : inputs_) columns_.push_back({input.name});
  }
  if (!columns_.empty() && columns_.size() != inputs_.size()) {
    raise_input_error("columns are named for ", columns_.size(), " inputs, the model takes ", inputs_.size());
  }
  if (!columns_.empty()) features_ = features_.for_columns(joined(columns_));
}

std::vector<std::vector<std::string>> TableInputs::columns(const std::vector<std::string>& numbers) const {
  std::vector<std::vector<std::string>> result = columns_;
  if (result.empty()) result.push_back(numbers);
  for (size_t i = 0; i < inputs_.size(); ++i) check_width(inputs_[i], result[i].size());
  return result;
}

std::vector<std::string> TableInputs::sources(const std::vector<std::string>& all,
                                              const std::vector<std::string>& numbers) const {
  std::vector<std::string> needed = features_.sources(joined(columns_));
  if (takes_all_numbers()) needed.insert(needed.end(), numbers.begin(), numbers.end());
  std::vector<std::string> result;
  for (const std::string& name : joined({all, needed})) {
    if (contains(needed, name) && !contains(result, name)) result.push_back(name);
  }
  return result;
}

std::vector<Tensor> TableInputs::make(std::vector<Column> columns) const {
  features_.apply(columns);
  std::vector<std::string> numbers;
  for (const Column& column : columns) {
    if (!std::holds_alternative<std::vector<std::string>>(column.values)) numbers.push_back(column.name);
  }
  const std::vector<std::vector<std::string>> names = this->columns(numbers);
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor tensor = to_tensor(columns, names[i], inputs_[i].type.dtype);
    tensors.push_back(is_flat(inputs_[i]) ? tensor.reshaped(Shape{tensor.shape()[0]}) : tensor);
  }
  return tensors;
}

}  // namespace thalweg::data

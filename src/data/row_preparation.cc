// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/row_preparation.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "thalweg/input_error.h"

namespace thalweg::data {
namespace {

using Texts = std::vector<std::string>;

/// The tensor with `rows` rows, of which the last one that there is fills those that are missing.
Tensor filled_up(const Tensor& tensor, int64_t rows) {
  const int64_t given = tensor.shape()[0];
  if (given == rows) return tensor;
  TW_REQUIRE(0 < given && given < rows, given, " rows cannot be filled up to ", rows);
  std::vector<int64_t> dims = tensor.shape().dims();
  dims[0] = rows;
  const Tensor result(tensor.dtype(), Shape(dims));
  const size_t row_bytes = static_cast<size_t>(tensor.num_elements() / given) * size_of(tensor.dtype());
  auto* target = static_cast<std::byte*>(result.raw());
  std::memcpy(target, tensor.raw(), static_cast<size_t>(given) * row_bytes);
  const std::byte* last = target + static_cast<size_t>(given - 1) * row_bytes;
  for (int64_t row = given; row < rows; ++row) {
    std::memcpy(target + static_cast<size_t>(row) * row_bytes, last, row_bytes);
  }
  return result;
}

}  // namespace

void check_text_inputs(const ModelMetadata& metadata, const std::vector<TableInput>& inputs) {
  if (!metadata.text.has_value()) {
    raise_input_error("the model's file does not say how text becomes its input (its metadata lack thalweg.text)");
  }
  if (inputs.size() != 1) {
    raise_input_error("text is data for a model with one input, this one has ", inputs.size());
  }
  const TableInput& input = inputs.front();
  if (input.type.dtype != DType::kI64) {
    raise_input_error("text becomes i64; input ", printable(input.name), " takes ", name_of(input.type.dtype));
  }
  const int64_t length = metadata.text->shape.length;
  const Shape& shape = input.type.shape;
  if (shape.rank() != 2 || (shape[1] != kFree && shape[1] != length)) {
    raise_input_error("text becomes rows of ", length, " numbers, which input ", printable(input.name), " ",
                      shape.to_string(), " does not take");
  }
}

std::vector<Tensor> text_inputs(const ModelMetadata& metadata, const std::vector<TableInput>& inputs,
                                std::span<const std::string> texts) {
  check_text_inputs(metadata, inputs);
  const TextPreprocessing& text = *metadata.text;
  const Tensor rows(DType::kI64, {static_cast<int64_t>(texts.size()), text.shape.length});
  auto* row = rows.data<int64_t>();
  for (const std::string& one : texts) {
    text.encode(one, row);
    row += text.shape.length;
  }
  return {rows};
}

RowPreparation::RowPreparation(ModelMetadata metadata, std::vector<TableInput> inputs,
                               std::vector<std::vector<std::string>> columns)
    : metadata_(std::move(metadata)), inputs_(std::move(inputs)) {
  if (takes_texts()) {
    check_text_inputs(metadata_, inputs_);
    return;
  }
  table_.emplace(metadata_, inputs_, std::move(columns));
  if (table_->takes_all_numbers()) {
    raise_input_error("the model's file does not say which columns become its input: name them");
  }
  table_->columns({});
}

std::vector<std::string> RowPreparation::columns() const {
  return takes_texts() ? std::vector<std::string>() : table_->sources({}, {});
}

std::vector<Tensor> RowPreparation::made(const std::vector<Column>& columns) const {
  if (takes_texts()) {
    const auto* texts = columns.size() == 1 ? std::get_if<Texts>(&columns.front().values) : nullptr;
    if (texts == nullptr) raise_input_error("the model takes one column, of texts");
    return text_inputs(metadata_, inputs_, *texts);
  }
  std::vector<Column> needed;
  for (const std::string& name : this->columns()) {
    const auto found =
        std::find_if(columns.begin(), columns.end(), [&](const Column& one) { return one.name == name; });
    if (found == columns.end()) raise_input_error("there is no column ", printable(name), ", which the model needs");
    needed.push_back(*found);
  }
  return table_->make(std::move(needed));
}

std::vector<Tensor> RowPreparation::make(const std::vector<Column>& columns, int64_t filled) const {
  std::vector<Tensor> tensors = made(columns);
  for (Tensor& tensor : tensors) tensor = filled_up(tensor, filled);
  return tensors;
}

}  // namespace thalweg::data

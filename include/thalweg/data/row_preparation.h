// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/data/table_inputs.h"

namespace thalweg::data {

/// The rows of the only input of a model that takes lines of text: i64 [texts, length]. Throws InputError if the
/// metadata do not say how text becomes numbers, or the model takes something else.
std::vector<Tensor> text_inputs(const ModelMetadata& metadata, const std::vector<TableInput>& inputs,
                                std::span<const std::string> texts);

/// What `text_inputs` would throw for any texts, before there are some.
void check_text_inputs(const ModelMetadata& metadata, const std::vector<TableInput>& inputs);

/// From columns of rows, as people have them, to the inputs of a model, as its file says: a line of text by the
/// vocabulary, a table by the features and the names of columns. It does not change, and any threads may use it.
class RowPreparation {
 public:
  /// `columns` are those of each input, as TableInputs takes them; empty: what the metadata say. Throws InputError if
  /// the metadata do not fit the inputs, or say nothing of rows and nobody names columns.
  RowPreparation(ModelMetadata metadata, std::vector<TableInput> inputs,
                 std::vector<std::vector<std::string>> columns = {});

  /// True if rows are lines of text: a single column, whatever it is called.
  bool takes_texts() const { return metadata_.text.has_value(); }
  /// The columns that a row must have, by name; empty if it takes texts.
  std::vector<std::string> columns() const;
  /// Those of them that may lack values.
  std::vector<std::string> imputed() const { return takes_texts() ? std::vector<std::string>() : table_->imputed(); }

  /// The inputs in the model's order, with `filled` rows: those beyond the given ones are copies of the last, for a
  /// model whose kernels are made for that many. Columns that it does not need are left alone. Throws InputError that
  /// names the column if one lacks, holds what it cannot take, or has another number of rows.
  std::vector<Tensor> make(const std::vector<Column>& columns, int64_t filled) const;

 private:
  std::vector<Tensor> made(const std::vector<Column>& columns) const;

  ModelMetadata metadata_;
  std::vector<TableInput> inputs_;
  std::optional<TableInputs> table_;
};

}  // namespace thalweg::data

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "thalweg/data/metadata.h"

namespace thalweg::data {

/// An input of a model, as columns of a table fill it.
struct TableInput {
  std::string name;
  /// [rows] or [rows, columns]; kFree where any number will do.
  TensorType type;
};

/// How rows of a table become the inputs of a model: by its features first, then the columns of each input side by
/// side.
class TableInputs {
 public:
  /// `columns` are those of each input, named as they are after the features. If it is empty they are what the metadata
  /// say; else, of a model with several inputs, the one of the same name each; else all that hold numbers. Throws
  /// InputError if the metadata are of a model with another number of inputs.
  TableInputs(const ModelMetadata& metadata, std::vector<TableInput> inputs,
              std::vector<std::vector<std::string>> columns = {});

  /// True if nothing says which columns are meant.
  bool takes_all_numbers() const { return columns_.empty(); }
  /// Of each input, after the features; `numbers` are all columns of numbers that are there then. Throws InputError if
  /// there are more or fewer than an input takes.
  std::vector<std::vector<std::string>> columns(const std::vector<std::string>& numbers) const;

  /// The columns that `make` needs of a table that has columns `all`, of which some hold numbers; in its order, and
  /// after them those that it does not have.
  std::vector<std::string> sources(const std::vector<std::string>& all, const std::vector<std::string>& numbers) const;
  /// Those of the columns that may lack values.
  std::vector<std::string> imputed() const { return features_.imputed(); }
  /// In the model's order, each in its element type.
  std::vector<Tensor> make(std::vector<Column> columns) const;

 private:
  Features features_;
  std::vector<TableInput> inputs_;
  std::vector<std::vector<std::string>> columns_;
};

}  // namespace thalweg::data

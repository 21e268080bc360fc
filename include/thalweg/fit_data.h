// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "thalweg/data/views.h"
#include "thalweg/train.h"

/// Makes arrays as people have them fit for a model, and says what is wrong with them before training starts.
namespace thalweg {

/// A column of a table: [rows].
struct NamedColumn {
  std::string name;
  Tensor values;
};

/// The columns side by side: [rows, columns]. Throws InputError that names the column if their lengths differ or it is
/// no column.
Tensor join_columns(const std::vector<NamedColumn>& columns, DType dtype = DType::kF32);

/// Throws InputError that names `what`, the row and, in a matrix, the column (by `columns` if it has as many names)
/// where the first NaN is, and says how many there are.
void require_no_nan(const Tensor& values, const std::string& what, const std::vector<std::string>& columns = {});

/// "input 'x' holds NaN in column 3, row 17": the first NaN in a batch for a model of this graph, "" if there is none.
/// Rows are counted from `first_row`.
std::string nan_in(const data::Batch& batch, const Graph& graph, int64_t first_row = 0);

/// Throws InputError with the place of the first NaN if the samples lie in memory (Dataset::is_in_memory); of others
/// nothing is known before they are read.
void require_no_nan(const data::Dataset& data, const Graph& graph);

/// Throws InputError with the first class number that is none of the model's, for samples that lie in memory or say
/// their classes without being read (Dataset::highest_class). For data with one target.
void require_known_classes(const data::Dataset& data, const Graph& graph, const Loss& loss);

/// The array as the model's input takes it: numbers of another type are converted, unless that would cut off fractions.
/// Throws InputError that names the input if type or shape do not fit, or if something is NaN.
Tensor fit_input(const Tensor& given, const Value& input, const std::vector<std::string>& columns = {});

/// What an estimator trains with unless it is told otherwise.
inline constexpr const char* kUsualLoss = "cross_entropy";
inline constexpr const char* kUsualOptimizer = "adam";

/// The array as the loss takes it for a target: as it is, as i64 if it holds whole numbers or as f32, and with a last
/// dimension of 1 added to [rows] or taken from [rows, 1]; the first of these that the loss accepts for the outputs of
/// `graph`. Throws InputError with what the loss said if it accepts none, if something is NaN, or if a class number is
/// not one of the model's. For models with one target.
Tensor fit_target(const Tensor& given, const Graph& graph, const Loss& loss);

/// The samples with their one target as the loss takes it: themselves if it takes them as they are, or else converted
/// as above while they are read. Types alone decide, since not all samples lie in memory: numbers that may have
/// fractions become class numbers for a loss that takes nothing else, and to read one with a fraction then throws
/// InputError with the number of its sample. Data with several targets, and those that the loss takes in no form, stay
/// what they are.
data::DatasetPtr fit_target(data::DatasetPtr data, const Graph& graph, const Loss& loss);

/// Class numbers that a loss takes: 0 to count - 1, and one that means "leave this out".
struct ClassNumbers {
  int64_t count = 0;
  int64_t ignored = 0;
  bool contain(int64_t label) const { return (label >= 0 && label < count) || label == ignored; }
};

struct AcceptedTarget {
  /// Of one row.
  TensorType type;
  /// Where the loss looks a class up by its number.
  std::optional<ClassNumbers> classes;
};

/// What the loss accepts for the target of one row, of the types that labels come in: a whole number, a number, a list
/// of one of either, or as many of either as the first output has in a row. For models with one target.
std::vector<AcceptedTarget> accepted_targets(const Graph& graph, const Loss& loss);

/// Throws InputError unless all have as many rows as the first; `names` are for the message.
void require_same_rows(const std::vector<Tensor>& tensors, const std::vector<std::string>& names);

/// Predictions for as many rows as there are, in memory for a batch at a time; the outputs of all rows in one tensor
/// each. Throws InputError if an output has no row for each row of the inputs.
std::vector<Tensor> predict_in_batches(Model& model, const std::vector<Tensor>& inputs, int64_t batch_size = 256);
/// The same for the samples of a dataset, in its order; targets are left alone.
std::vector<Tensor> predict_in_batches(Model& model, const data::Dataset& data, int64_t batch_size = 256);

}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "thalweg/data/loader.h"

/// Tables in files, by way of Arrow. In a library of its own, thalweg_arrow (CMake: thalweg::arrow), so that programs
/// which read no tables need no Arrow.
namespace thalweg::data {

enum class TableFormat { kAuto, kParquet, kArrow, kCsv };

/// Columns that become one tensor: [rows, columns], or [rows] if `flat` and there is one column. One column of lists
/// that are all as long as the first: [rows, length].
struct TensorColumns {
  std::vector<std::string> columns;
  DType dtype = DType::kF32;  ///< f32, f64, i32 or i64
  bool flat = false;
};

/// A row passes if its value compares so; null never does.
struct Condition {
  enum class Kind { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };
  std::string column;
  Kind kind = Kind::kEqual;
  std::variant<int64_t, double, bool, std::string> value;
};

enum class Nulls {
  kFail,  ///< an error that names the column and the row
  kFill   ///< TableOptions::fill stands in
};

struct TableOptions {
  std::vector<TensorColumns> inputs;
  std::vector<TensorColumns> targets = {};
  /// All must hold. Row groups that cannot hold such a row are not read.
  std::vector<Condition> filter = {};
  /// By the ends of the files' names if kAuto; a directory with files of several formats is an error then.
  TableFormat format = TableFormat::kAuto;
  Nulls nulls = Nulls::kFail;
  double fill = 0.0;
  /// CSV rows of the wrong length: an error, or left out and counted.
  BadSample bad_rows = BadSample::kFail;
  char csv_separator = ',';
  /// What may be kept decoded. Parquet without a filter is read as needed, row group by row group, and the last ones
  /// used stay; the rest must fit whole.
  int64_t memory_bytes = int64_t{4} << 30;
  /// Row groups decoded at once, ahead of their use; 0: as many as there are processors.
  int threads = 0;
  /// How long a row group may take before that is an error.
  std::chrono::seconds patience{600};
};

/// The rows of a file, or of all files of one format in a directory, at a path or any URI that Arrow opens (file, hdfs,
/// s3, gs, abfss). The order is that of the files' names and of the rows within.
///
/// Rows of Parquet in random order come from everywhere: give BatchSampler a shuffle_window of some row groups unless
/// all fits in `memory_bytes`.
class Table : public Dataset {
 public:
  Table(const std::string& uri, const TableOptions& options);
  ~Table() override;

  int64_t size() const override;
  std::vector<TensorType> input_types() const override;
  std::vector<TensorType> target_types() const override;
  void read(std::span<const int64_t> indices, const Draw& draw, const Batch& batch, int64_t row) const override;
  /// Rows that follow each other in one row group.
  std::optional<Batch> lend(std::span<const int64_t> indices) const override;
  /// CSV rows that were left out.
  int64_t skipped_rows() const;

 private:
  class Impl;
  /// Shared with its readers: one that a loader has left behind may come back when this object is gone.
  std::shared_ptr<Impl> impl_;
};

struct TableColumn {
  std::string name;
  std::string type;  ///< as Arrow writes it
};

/// What a table holds.
struct TableSchema {
  std::vector<TableColumn> columns;
  int64_t files = 0;
  /// -1 if the format does not say.
  int64_t rows = -1;
};
TableSchema inspect_table(const std::string& uri, TableFormat format = TableFormat::kAuto);

/// Of the Arrow library that reads the files, such as "26.0.1".
std::string arrow_version();

}  // namespace thalweg::data

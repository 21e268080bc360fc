// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "columns.h"
#include "thalweg/data/remote_files.h"
#include "thalweg/data/table_columns.h"

namespace thalweg::python {
namespace {

using namespace nb::literals;
using data::TensorColumns;

/// Columns of one tensor by their names, or a single one, whose tensor has one number for each row.
using Columns = std::variant<std::string, std::vector<std::string>>;

TensorColumns columns_from(const Columns& given, DType dtype) {
  if (const auto* one = std::get_if<std::string>(&given)) return {{*one}, dtype, true};
  return {std::get<std::vector<std::string>>(given), dtype, false};
}

/// Column, comparison and value, as pyarrow's filters.
using Filter = std::vector<std::tuple<std::string, std::string, std::variant<int64_t, double, bool, std::string>>>;

std::vector<data::Condition> conditions_from(const Filter& filter) {
  using Kind = data::Condition::Kind;
  static const std::map<std::string, Kind> kKinds = {{"==", Kind::kEqual},  {"!=", Kind::kNotEqual},
                                                     {"<", Kind::kLess},    {"<=", Kind::kLessEqual},
                                                     {">", Kind::kGreater}, {">=", Kind::kGreaterEqual}};
  std::vector<data::Condition> conditions;
  for (const auto& [column, comparison, value] : filter) {
    const auto kind = kKinds.find(comparison);
    if (kind == kKinds.end()) {
      raise_input_error("filter: '", comparison, "' of column '", column, "' is not one of ==, !=, <, <=, >, >=");
    }
    conditions.push_back({column, kind->second, value});
  }
  return conditions;
}

data::BadSample bad_rows_from(const std::string& name) {
  if (name == "fail") return data::BadSample::kFail;
  if (name == "skip") return data::BadSample::kSkip;
  raise_input_error("bad_rows is '", name, "', not fail or skip");
}

char separator_from(const std::string& text) {
  if (text.size() != 1) raise_input_error("separator is '", text, "', not one ASCII character");
  return text[0];
}

/// Nothing: the engine's choice.
data::TableFormat format_from(const std::optional<std::string>& name) {
  if (!name.has_value()) return data::TableOptions().format;
  static const std::map<std::string, data::TableFormat> kFormats = {{"auto", data::TableFormat::kAuto},
                                                                    {"parquet", data::TableFormat::kParquet},
                                                                    {"arrow", data::TableFormat::kArrow},
                                                                    {"csv", data::TableFormat::kCsv}};
  const auto found = kFormats.find(*name);
  if (found == kFormats.end()) raise_input_error("format is '", *name, "', not auto, parquet, arrow or csv");
  return found->second;
}

/// Knows by which names its columns go, for the model that is trained on it.
class NamedTable : public data::Table {
 public:
  NamedTable(const std::string& uri, const data::TableOptions& options)
      : data::Table(uri, options), names_(options.inputs.at(0).columns) {}

  /// Of the input's columns; nothing if one of them holds lists.
  std::optional<std::vector<std::string>> input_columns() const {
    const thalweg::Shape shape = input_types().at(0).shape;
    const bool are_numbers =
        shape.rank() == 1 || (shape.rank() == 2 && shape[1] == static_cast<int64_t>(names_.size()));
    return are_numbers ? std::optional(names_) : std::nullopt;
  }

 private:
  std::vector<std::string> names_;
};

void init_table(NamedTable* self, const PathText& uri, const Columns& inputs, const std::optional<Columns>& target,
                DType dtype, DType target_dtype, const Filter& filter, std::optional<double> fill,
                const std::string& bad_rows, const std::string& separator, int64_t memory_bytes, int threads,
                const std::optional<std::string>& format) {
  data::TableOptions options;
  options.inputs = {columns_from(inputs, dtype)};
  if (target.has_value()) options.targets = {columns_from(*target, target_dtype)};
  if (fill.has_value()) options.nulls = data::Nulls::kFill;
  options.fill = fill.value_or(options.fill);
  options.filter = conditions_from(filter);
  options.bad_rows = bad_rows_from(bad_rows);
  options.csv_separator = separator_from(separator);
  options.memory_bytes = memory_bytes;
  options.threads = threads;
  options.format = format_from(format);
  const nb::gil_scoped_release release;
  new (self) NamedTable(uri.text, options);
}

nb::dict read_columns(const PathText& uri, const std::vector<std::string>& columns, const Filter& filter,
                      std::optional<double> fill, const std::string& separator,
                      const std::optional<std::string>& format, const std::vector<std::string>& may_lack) {
  data::TableOptions options;
  if (fill.has_value()) options.nulls = data::Nulls::kFill;
  options.fill = fill.value_or(options.fill);
  options.filter = conditions_from(filter);
  options.csv_separator = separator_from(separator);
  options.format = format_from(format);
  std::vector<data::Column> read;
  {
    const nb::gil_scoped_release release;
    read = data::read_columns(uri.text, columns, options, may_lack);
  }
  return columns_to_dict(read);
}

std::vector<std::pair<std::string, std::string>> columns_of(const PathText& uri,
                                                            const std::optional<std::string>& format) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const data::TableColumn& column : data::inspect_table(uri.text, format_from(format)).columns)
    result.emplace_back(column.name, column.type);
  return result;
}

}  // namespace
}  // namespace thalweg::python

/// Tables in files. Arrow's libraries must be in the process before this module is loaded: thalweg/_tables.py.
NB_MODULE(_arrow, module) {
  using namespace thalweg::python;
  namespace data = thalweg::data;
  module.doc() = "Tables in files, by way of Arrow.";
  // The base class is there.
  nb::module_::import_("thalweg._core");
  const data::TableOptions usual;
  nb::class_<NamedTable, data::Dataset>(module, "Table",
                                        R"(Rows of Parquet, Arrow or CSV files, at a path or a URI that Arrow opens.

    thalweg.data.Table("s3://bucket/rides", inputs=["distance", "hour"], target="fare")

A list of columns becomes one matrix, a single name one number for each row. With target_dtype="int64" fractions in the
target are an error when they are read; without it, when the loss takes classes. Nulls are an error unless `fill` stands in.
All conditions of `filter` must hold, as in [("fare", ">", 0)]. CSV rows of the wrong length are an error, or with
bad_rows="skip" are left out and counted. `format` is "parquet", "arrow" or "csv" where the files' names do not say it.)")
      .def("__init__", init_table, "uri"_a, "inputs"_a, "target"_a = nb::none(), nb::kw_only(),
           "dtype"_a = data::TensorColumns{}.dtype, "target_dtype"_a = data::TensorColumns{}.dtype,
           "filter"_a = Filter(), "fill"_a = nb::none(), "bad_rows"_a = "fail", "separator"_a = ",",
           "memory_bytes"_a = usual.memory_bytes, "threads"_a = usual.threads, "format"_a = nb::none())
      .def_prop_ro("input_columns", &NamedTable::input_columns,
                   "Names of the input's columns, which an estimator keeps; None if they hold lists.")
      .def_prop_ro("skipped_rows", [](const NamedTable& self) { return self.skipped_rows(); });
  module.def("table_columns", columns_of, "uri"_a, "format"_a = nb::none(), nb::call_guard<nb::gil_scoped_release>(),
             "Name and Arrow type of each column.");
  module.def(
      "read_columns", read_columns, "uri"_a, "columns"_a, nb::kw_only(), "filter"_a = Filter(), "fill"_a = nb::none(),
      "separator"_a = std::string(1, usual.csv_separator), "format"_a = nb::none(),
      "may_lack"_a = std::vector<std::string>(),
      "Columns of a table as a dict of arrays and lists of texts, for thalweg.data.Features. Nulls are an error, or "
      "filled with `fill`, but in columns that `may_lack` values, where they are NaN or, in lists, None.");
  module.def(
      "remote_files",
      [](const std::string& uri) { return std::const_pointer_cast<data::Files>(data::remote_files(uri)); }, "uri"_a,
      nb::call_guard<nb::gil_scoped_release>(),
      "Files at an address that Arrow opens (hdfs, s3, gs, abfss), for ImageFolder and TextLines.");
  module.def("arrow_version", data::arrow_version, "Of the Arrow library that reads the files.");
}

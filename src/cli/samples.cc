// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/samples.h"

#include <algorithm>

#include "base/text.h"
#include "cli/sample_images.h"
#include "cli/source_kind.h"
#include "thalweg/data/remote_files.h"
#include "thalweg/data/row_preparation.h"
#include "thalweg/data/table.h"
#include "thalweg/data/table_columns.h"
#include "thalweg/input_error.h"
#include "thalweg/npy.h"
#include "thalweg/predictor.h"

namespace thalweg::cli {
namespace {

std::vector<std::string> input_names(const Model& model) {
  std::vector<std::string> names;
  for (const ValueDescription& input : model.inputs()) names.push_back(input.name);
  return names;
}

/// An array as the input wants it: one sample without a batch gets one, and numbers are converted unless they would
/// lose their fraction.
Tensor fit(const Tensor& array, const ValueDescription& input, const std::string& path) {
  Tensor result = array;
  if (input.shape.has_value() && array.shape().rank() + 1 == input.shape->rank()) {
    std::vector<int64_t> dims = array.shape().dims();
    dims.insert(dims.begin(), 1);
    result = array.reshaped(Shape(dims));
  }
  TW_REQUIRE(result.shape().rank() > 0, path, ": a single number is no batch for input ", printable(input.name));
  if (!input.dtype.has_value() || *input.dtype == result.dtype()) return result;
  TW_REQUIRE(is_floating(*input.dtype) || !is_floating(result.dtype()), path, ": holds ", name_of(result.dtype()),
             ", input ", printable(input.name), " takes ", name_of(*input.dtype));
  return result.to(*input.dtype);
}

Samples numbered(std::unique_ptr<data::Dataset> dataset) {
  return {std::move(dataset), [](int64_t index) { return std::to_string(index); }};
}

Samples open_array(const std::string& path, const Model& model) {
  if (model.inputs().size() != 1) {
    wrong_usage(path, " holds one array, the model takes ", model.inputs().size(), ": ", join(input_names(model), ", "),
                "; put them into a .npz file");
  }
  std::vector<Tensor> inputs = {fit(npy::read(path), model.inputs()[0], path)};
  return numbered(std::make_unique<data::TensorDataset>(std::move(inputs)));
}

/// Arrays go to the inputs of their names or, if no name is an input's, in order.
Samples open_archive(const std::string& path, const Model& model) {
  const std::vector<NamedTensor> arrays = npy::read_archive(path);
  const auto find = [&](const std::string& name) {
    return std::find_if(arrays.begin(), arrays.end(), [&](const NamedTensor& array) { return array.name == name; });
  };
  const std::vector<std::string> names = input_names(model);
  const bool by_name =
      std::any_of(names.begin(), names.end(), [&](const auto& name) { return find(name) != arrays.end(); });
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto array = by_name ? find(names[i]) : arrays.begin() + static_cast<ptrdiff_t>(std::min(i, arrays.size()));
    if (array == arrays.end()) wrong_usage(path, " has no array for input ", printable(names[i]));
    inputs.push_back(fit(array->tensor, model.inputs()[i], path + ": array " + printable(array->name)));
  }
  return numbered(std::make_unique<data::TensorDataset>(std::move(inputs)));
}

bool is_number(const std::string& arrow_type) {
  static const std::vector<std::string> kinds = {"int8",   "int16",  "int32", "int64",  "uint8", "uint16",
                                                 "uint32", "uint64", "float", "double", "bool",  "halffloat"};
  return std::find(kinds.begin(), kinds.end(), arrow_type) != kinds.end();
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

/// The columns of each input by --columns; empty without it.
std::vector<std::vector<std::string>> chosen_columns(const SampleOptions& options, const Model& model) {
  const std::vector<std::string> names = input_names(model);
  std::vector<std::vector<std::string>> columns(options.columns.empty() ? 0 : names.size());
  for (const std::string& text : options.columns) {
    const size_t equals = text.find('=');
    const std::string name = equals == std::string::npos && names.size() == 1 ? names[0] : text.substr(0, equals);
    const auto input = std::find(names.begin(), names.end(), name);
    if (input == names.end()) {
      wrong_usage("--columns ", printable(text), " is not INPUT=a,b,c; the model's inputs are ", join(names, ", "));
    }
    columns[static_cast<size_t>(input - names.begin())] =
        split(equals == std::string::npos ? text : text.substr(equals + 1));
  }
  return columns;
}

struct ColumnNames {
  std::vector<std::string> all, numbers;
  /// Those that are no numbers, with their types.
  std::vector<std::string> others;

  /// Why there are not as many numbers as the model wants; "" if all columns are numbers.
  std::string why_not_more() const;
};

std::string ColumnNames::why_not_more() const {
  if (others.empty()) return "";
  const char* separators = ";\t|";
  const size_t at = all.size() == 1 ? all[0].find_first_of(separators) : std::string::npos;
  if (at != std::string::npos) {
    return "; its only column is called " + printable(all[0]) + ": is " + printable(all[0].substr(at, 1)) +
           " what separates columns? Commas do, and tabs in .tsv files; other files go by `separator` of Python's "
           "Table";
  }
  return "; left out, for they hold no numbers: " + join(others, ", ");
}

ColumnNames columns_in(const std::string& path) {
  ColumnNames names;
  for (const data::TableColumn& column : data::inspect_table(path).columns) {
    names.all.push_back(column.name);
    if (is_number(column.type)) {
      names.numbers.push_back(column.name);
    } else {
      names.others.push_back(column.name + " (" + (column.type == "null" ? "empty" : column.type) + ")");
    }
  }
  return names;
}

Samples open_table(const SampleOptions& options, const Model& model) {
  const data::ModelMetadata metadata = data::metadata_from(model.metadata());
  ColumnNames names;
  try {
    const data::TableInputs inputs(metadata, table_inputs(model), chosen_columns(options, model));
    const bool has_features = metadata.features.has_value();
    if (has_features || inputs.takes_all_numbers()) names = columns_in(options.path);
    data::TableOptions table;
    table.nulls = options.fill.has_value() ? data::Nulls::kFill : data::Nulls::kFail;
    table.fill = options.fill.value_or(0);
    if (has_features) {
      std::vector<data::Column> columns =
          data::read_columns(options.path, inputs.sources(names.all, names.numbers), table, inputs.imputed());
      return numbered(std::make_unique<data::TensorDataset>(inputs.make(std::move(columns))));
    }
    const std::vector<std::vector<std::string>> columns = inputs.columns(names.numbers);
    for (size_t i = 0; i < columns.size(); ++i) {
      const ValueDescription& input = model.inputs()[i];
      const bool flat = input.shape.has_value() && input.shape->rank() == 1;
      table.inputs.push_back({columns[i], input.dtype.value_or(DType::kF32), flat});
    }
    return numbered(std::make_unique<data::Table>(options.path, table));
  } catch (const InputError& error) {
    const std::string why = metadata.features.has_value() ? "" : names.why_not_more();
    wrong_usage(options.path, ": ", error.what(), why, "; choose with --columns");
  }
}

/// Lines of a text file, by the vocabulary in the model's metadata.
Samples open_text(const SampleOptions& options, const Model& model) {
  const data::ModelMetadata metadata = data::metadata_from(model.metadata());
  try {
    data::check_text_inputs(metadata, table_inputs(model, DType::kI64));
  } catch (const InputError& error) {
    wrong_usage(options.path, ": ", error.what());
  }
  const data::TextPreprocessing& text = *metadata.text;
  const data::TextLinesOptions lines{text.tokenize, text.shape, options.labelled};
  if (!data::is_uri(options.path)) {
    return numbered(std::make_unique<data::TextLines>(options.path, text.vocabulary, lines));
  }
  const data::RemoteFile file = data::remote_file(options.path);
  return numbered(std::make_unique<data::TextLines>(*file.files, file.path, text.vocabulary, lines));
}

}  // namespace

void SampleOptions::add_to(CLI::App& options) {
  options
      .add_option(
          "DATA", path,
          "Array (.npy), arrays (.npz), image, folder of images, text (.txt), or table (.csv, .parquet, .arrow)")
      ->required();
  add_reading_to(options);
}

void SampleOptions::add_reading_to(CLI::App& options) {
  options.add_option("--batch", batch, "Samples of a run (default 16, or what the model insists on)")
      ->check(CLI::PositiveNumber);
  options
      .add_option("--bad-samples", bad_samples,
                  "Images of a folder that cannot be read: fail (default), or skip, which leaves them out")
      ->check(CLI::IsMember({"fail", "skip"}))
      ->group("Images");
  options.add_option("--resize", resize, "Images: length of the shorter side, or HEIGHTxWIDTH")->group("Images");
  options.add_option("--crop", crop, "Images: what to cut from the centre, SIDE or HEIGHTxWIDTH")->group("Images");
  options.add_option("--mean", mean, "Of each channel, of pixels in 0..1 (default ImageNet's)")
      ->delimiter(',')
      ->group("Images");
  options.add_option("--std", deviation, "Of each channel, of pixels in 0..1 (default ImageNet's)")
      ->delimiter(',')
      ->group("Images");
  options.add_option("--interpolation", interpolation, "nearest, bilinear, bicubic or area")
      ->check(CLI::IsMember({"nearest", "bilinear", "bicubic", "area"}))
      ->group("Images");
  options.add_option("--layout", layout, "nchw or nhwc (default: by the model's input)")
      ->check(CLI::IsMember({"nchw", "nhwc"}))
      ->group("Images");
  options.add_option("--max-pixels", max_pixels, "Images of more are refused: a small file can claim gigabytes")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group("Images");
  options.add_flag("--labelled", labelled, "Each line begins with its class and a tab, which are left out")
      ->group("Texts");
  options.add_option("--columns", columns, "a,b,c: the columns of the input; INPUT=a,b,c again for each of several")
      ->allow_extra_args(false)
      ->group("Tables");
  options.add_option("--fill", fill, "A number in place of nulls (default: they are errors)")->group("Tables");
}

bool SampleOptions::describe_images() const {
  return !resize.empty() || !crop.empty() || !mean.empty() || !deviation.empty();
}

Samples open_samples(const SampleOptions& options, const Model& model) {
  TW_REQUIRE(!model.inputs().empty(), "the model takes no inputs");
  const bool takes_text = data::metadata_from(model.metadata()).text.has_value();
  const std::string ending = ending_of(options.path);
  if (ending == ".npy") return open_array(options.path, model);
  if (ending == ".npz") return open_archive(options.path, model);
  if (takes_text) return open_text(options, model);
  switch (kind_of_source(options.path)) {
    case SourceKind::kImage:
    case SourceKind::kImageFolder: return open_images(options, model);
    case SourceKind::kText: return open_text(options, model);
    default: return open_table(options, model);
  }
}

}  // namespace thalweg::cli

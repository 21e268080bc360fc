// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/samples.h"

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "cli/sample_images.h"
#include "thalweg/data/table.h"
#include "thalweg/npy.h"

namespace thalweg::cli {
namespace {

std::string ending_of(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending;
}

std::vector<std::string> input_names(const InferenceModel& model) {
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

Samples open_array(const std::string& path, const InferenceModel& model) {
  if (model.inputs().size() != 1) {
    wrong_usage(path, " holds one array, the model takes ", model.inputs().size(), ": ", join(input_names(model), ", "),
                "; put them into a .npz file");
  }
  std::vector<Tensor> inputs = {fit(npy::read(path), model.inputs()[0], path)};
  return numbered(std::make_unique<data::TensorDataset>(std::move(inputs)));
}

/// Arrays go to the inputs of their names or, if no name is an input's, in order.
Samples open_archive(const std::string& path, const InferenceModel& model) {
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

/// The columns of each input, by --columns or, without it, all columns of numbers for a single input and those of the
/// same names for several.
std::vector<std::vector<std::string>> table_columns(const SampleOptions& options, const InferenceModel& model) {
  const std::vector<std::string> names = input_names(model);
  std::vector<std::vector<std::string>> columns(names.size());
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
  if (!options.columns.empty()) return columns;
  if (names.size() > 1) {
    for (size_t i = 0; i < names.size(); ++i) columns[i] = {names[i]};
    return columns;
  }
  for (const data::TableColumn& column : data::inspect_table(options.path).columns) {
    if (is_number(column.type)) columns[0].push_back(column.name);
  }
  return columns;
}

Samples open_table(const SampleOptions& options, const InferenceModel& model) {
  const std::vector<std::vector<std::string>> columns = table_columns(options, model);
  data::TableOptions table;
  for (size_t i = 0; i < columns.size(); ++i) {
    const ValueDescription& input = model.inputs()[i];
    const bool flat = input.shape.has_value() && input.shape->rank() == 1;
    const int64_t width = input.shape.has_value() && input.shape->rank() == 2 ? (*input.shape)[1] : kFree;
    const auto count = static_cast<int64_t>(columns[i].size());
    if (count == 0 || (flat && count != 1) || (width != kFree && count != width)) {
      wrong_usage("input ", printable(input.name), " takes ", flat ? 1 : width, " columns, ", options.path, " has ",
                  count, " of numbers; choose with --columns");
    }
    table.inputs.push_back({columns[i], input.dtype.value_or(DType::kF32), flat});
  }
  return numbered(std::make_unique<data::Table>(options.path, table));
}

}  // namespace

void SampleOptions::add_to(CLI::App& options) {
  options
      .add_option("DATA", path,
                  "Array (.npy), arrays (.npz), image, folder of images, or table (.csv, .parquet, .arrow)")
      ->required();
  add_reading_to(options);
}

void SampleOptions::add_reading_to(CLI::App& options) {
  options.add_option("--batch", batch, "Samples of a run (default 16, or what the model insists on)")
      ->check(CLI::PositiveNumber);
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
  options.add_option("--columns", columns, "a,b,c: the columns of the input; INPUT=a,b,c again for each of several")
      ->allow_extra_args(false)
      ->group("Tables");
}

bool SampleOptions::describe_images() const {
  return !resize.empty() || !crop.empty() || !mean.empty() || !deviation.empty();
}

Samples open_samples(const SampleOptions& options, const InferenceModel& model) {
  TW_REQUIRE(!model.inputs().empty(), "the model takes no inputs");
  const std::string ending = ending_of(options.path);
  if (ending == ".npy") return open_array(options.path, model);
  if (ending == ".npz") return open_archive(options.path, model);
  if (is_image_source(options.path)) return open_images(options, model);
  return open_table(options, model);
}

}  // namespace thalweg::cli

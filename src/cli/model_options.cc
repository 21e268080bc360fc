// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/model_options.h"

#include <charconv>
#include <optional>
#include <random>

#include "base/text.h"

namespace thalweg::cli {
namespace {

/// "1x3x224" as dimensions.
std::optional<Shape> parse_shape(const std::string& text) {
  std::vector<int64_t> dims;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, 'x');) {
    int64_t dim = 0;
    const auto [end, failure] = std::from_chars(part.data(), part.data() + part.size(), dim);
    if (failure != std::errc() || end != part.data() + part.size() || dim < 0) return std::nullopt;
    dims.push_back(dim);
  }
  if (dims.empty() || text.back() == 'x') return std::nullopt;
  return Shape(std::move(dims));
}

std::map<std::string, Shape> parse_shapes(const std::vector<std::string>& texts,
                                          const std::vector<ValueDescription>& inputs) {
  std::vector<std::string> names;
  for (const ValueDescription& input : inputs) names.push_back(input.name);
  std::map<std::string, Shape> shapes;
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    std::string name = equals == std::string::npos ? "" : text.substr(0, equals);
    const auto shape = parse_shape(equals == std::string::npos ? text : text.substr(equals + 1));
    if (!shape.has_value()) wrong_usage("--input-shape ", printable(text), " is not like name=1x3x224x224");
    if (equals == std::string::npos && names.size() == 1) name = names[0];
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      wrong_usage("--input-shape ", printable(text), ": the model's inputs are ", join(names, ", "));
    }
    shapes[name] = *shape;
  }
  return shapes;
}

/// A declared dimension with its name, if it has one.
std::string dimension_text(const ValueDescription& value, int d) {
  const std::string& name = value.dimension_names[static_cast<size_t>(d)];
  const int64_t dim = (*value.shape)[d];
  return dim != kFree ? std::to_string(dim) : name.empty() ? "?" : name;
}

std::string shape_text(const ValueDescription& value) {
  if (!value.shape.has_value()) return "[...]";
  std::vector<std::string> dims;
  for (int d = 0; d < value.shape->rank(); ++d) dims.push_back(dimension_text(value, d));
  return "[" + join(dims, ", ") + "]";
}

/// The declared shape with the batch in place of a free first dimension.
Shape default_shape(const ValueDescription& input, int64_t batch) {
  if (!input.shape.has_value()) {
    wrong_usage("the shape of input ", printable(input.name), " is not known: give --input-shape ", input.name, "=...");
  }
  Shape shape = *input.shape;
  if (shape.rank() > 0 && shape[0] == kFree) shape[0] = batch > 0 ? batch : 1;
  if (shape.rank() > 0 && batch > 0 && shape[0] != batch) {
    wrong_usage("--batch ", batch, ": input ", printable(input.name), " is ", shape_text(input));
  }
  if (!shape.is_static()) {
    wrong_usage("input ", printable(input.name), " is ", shape_text(input), ": give --input-shape ", input.name,
                "=... with all its dimensions");
  }
  return shape;
}

Tensor random_input(const ValueDescription& input, const Shape& shape) {
  TW_REQUIRE(input.dtype.has_value(), "input ", printable(input.name), " is no tensor of a supported type");
  if (!is_floating(*input.dtype)) return Tensor::full<int64_t>(shape, 1).to(*input.dtype);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  Tensor values(DType::kF32, shape);
  for (int64_t i = 0; i < values.num_elements(); ++i) values.data<float>()[i] = normal(random);
  return values.to(*input.dtype);
}

}  // namespace

void ModelOptions::add_to(CLI::App& options) {
  options.add_option("MODEL", path, "ONNX file")->required();
  options.add_option("--threads", threads, "Compute threads of each call (default: what the machine allows)")
      ->check(CLI::Range(1, 1024));
  options.add_option("--precision", precision, "f32 or bf16 (default: what the model file asks for, else f32)")
      ->check(CLI::IsMember({"f32", "bf16"}));
}

Model ModelOptions::load(int threads_each, Tuning tuning) const {
  InferenceOptions options;
  options.threads = threads > 0 ? threads : threads_each;
  options.tuning = tuning;
  if (!precision.empty()) options.precision = precision_from_name(precision);
  return Model::load(path, options);
}

void RandomInputOptions::add_to(CLI::App& options) {
  options.add_option("--batch", batch, "First dimension of every input that leaves it open (default 1)")
      ->check(CLI::PositiveNumber);
  options
      .add_option("--input-shape", shapes,
                  "NAME=1x3x224x224: the whole shape of an input; again for each input that leaves more open")
      ->type_name("SHAPE")
      ->allow_extra_args(false);
}

std::vector<Tensor> RandomInputOptions::make(const Model& model) const {
  const std::map<std::string, Shape> given = parse_shapes(shapes, model.inputs());
  std::vector<Tensor> inputs;
  for (const ValueDescription& input : model.inputs()) {
    const auto found = given.find(input.name);
    inputs.push_back(random_input(input, found != given.end() ? found->second : default_shape(input, batch)));
  }
  return inputs;
}

Json describe(const ValueDescription& value) {
  Json result = {{"name", value.name}, {"dtype", nullptr}, {"shape", nullptr}};
  if (value.dtype.has_value()) result["dtype"] = name_of(*value.dtype);
  if (!value.shape.has_value()) return result;
  result["shape"] = Json::array();
  for (int d = 0; d < value.shape->rank(); ++d) {
    // A free dimension is its name, or null.
    const int64_t dim = (*value.shape)[d];
    const std::string& name = value.dimension_names[static_cast<size_t>(d)];
    result["shape"].push_back(dim != kFree ? Json(dim) : name.empty() ? Json(nullptr) : Json(name));
  }
  return result;
}

std::string describe_text(const Json& value) {
  const std::string name = value["name"];
  const std::string dtype = value["dtype"].is_null() ? "?" : value["dtype"].get<std::string>();
  if (value["shape"].is_null()) return name + " " + dtype + "[...]";
  std::vector<std::string> dims;
  for (const Json& dim : value["shape"]) {
    dims.push_back(dim.is_null() ? "?" : dim.is_string() ? dim.get<std::string>() : dim.dump());
  }
  return name + " " + dtype + "[" + join(dims, ", ") + "]";
}

}  // namespace thalweg::cli

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/fit_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <unordered_map>

#include "ops/ids.h"
#include "thalweg/input_error.h"
#include "train/target_type.h"

namespace thalweg {
namespace {

int64_t rows_of(const Tensor& tensor, const std::string& what) {
  if (tensor.shape().rank() == 0) raise_input_error(what, " is a single number; it needs a row for each sample");
  return tensor.shape()[0];
}

/// f32 and f64 only: nobody keeps data with gaps in two-byte types.
bool may_hold_nan(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }

/// The place of the first NaN, or `count`. Whole blocks are looked at without a branch for each element, since this is
/// done to every batch.
template <typename T>
int64_t first_nan(const T* data, int64_t count) {
  constexpr int64_t kBlock = 512;
  int64_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    int found = 0;
    for (int64_t j = 0; j < kBlock; ++j) found |= static_cast<int>(data[i + j] != data[i + j]);
    if (found != 0) break;
  }
  while (i < count && data[i] == data[i]) ++i;
  return i;
}

int64_t first_nan(const Tensor& values) {
  if (values.dtype() == DType::kF32) return first_nan(values.data<float>(), values.num_elements());
  if (values.dtype() == DType::kF64) return first_nan(values.data<double>(), values.num_elements());
  return values.num_elements();
}

template <typename T>
int64_t count_nan(const Tensor& values) {
  const T* data = values.data<T>();
  return std::count_if(data, data + values.num_elements(), [](T value) { return value != value; });
}

/// "column 'age', row 17": of element `index` of rows that begin with number `first_row`.
std::string place_of(const Tensor& values, int64_t index, const std::vector<std::string>& columns, int64_t first_row) {
  const int64_t width = std::max<int64_t>(values.num_elements() / std::max<int64_t>(values.shape()[0], 1), 1);
  const std::string row = "row " + std::to_string(first_row + index / width);
  const auto column = static_cast<size_t>(index % width);
  if (column < columns.size()) return "column '" + columns[column] + "', " + row;
  if (columns.empty() && values.shape().rank() == 2) return "column " + std::to_string(column) + ", " + row;
  return row;
}

constexpr const char* kNanAdvice = ": leave such rows out or fill them";

bool fits_shape(const Shape& given, const Shape& declared) {
  bool fits = given.rank() == declared.rank();
  for (int d = 0; fits && d < given.rank(); ++d) fits = declared[d] == kFree || declared[d] == given[d];
  return fits;
}

/// What the loss makes of targets of one type.
struct Trial {
  std::unique_ptr<Graph> graph;
  Value* target = nullptr;
  /// "" if the loss takes them.
  std::string failure;
};

Trial try_target(const TensorType& target, const Graph& graph, const Loss& loss) {
  std::unordered_map<const Value*, Value*> mapping;
  Trial trial{graph.clone(&mapping), nullptr, ""};
  Shape shape = target.shape;
  if (shape.rank() > 0) shape[0] = kFree;
  try {
    Loss::Values outputs;
    for (const Value* output : graph.outputs()) outputs.push_back(mapping.at(output));
    trial.target = trial.graph->input("target of a trial", {target.dtype, shape});
    const Value* made = loss(outputs, {trial.target});
    if (!made->shape().is_static() || made->shape().num_elements() != 1 || made->dtype() != DType::kF32) {
      trial.failure = "it gives " + made->shape().to_string() + " rather than one number";
    }
  } catch (const Error& error) {
    trial.failure = error.what();
  }
  return trial;
}

/// Those that a softmax would not refuse when training comes to them.
std::optional<ClassNumbers> class_numbers(const Trial& trial) {
  for (const Node* node : trial.graph->consumers(trial.target)) {
    if (node->op_name() != op::kSoftmaxCrossEntropy) continue;
    const int64_t classes = node->input(0)->shape()[1];
    if (classes != kFree) return ClassNumbers{classes, node->attrs().integer("ignore_index")};
  }
  return std::nullopt;
}

/// What the model has, for those who have given it another class.
std::string told(const ClassNumbers& classes) {
  if (classes.count > 1) return "the model has the classes 0 to " + std::to_string(classes.count - 1);
  return "the model has one output, which the loss takes for one class: for two classes take the loss bce_with_logits, "
         "for numbers one such as mse, or give the model an output for each class";
}

/// Rows are counted from `first_row`.
void require_known_classes(const Tensor& labels, const ClassNumbers& classes, int64_t first_row = 0) {
  if (labels.dtype() != DType::kI64) return;
  const int64_t width = std::max<int64_t>(labels.num_elements() / std::max<int64_t>(labels.shape()[0], 1), 1);
  for (int64_t i = 0; i < labels.num_elements(); ++i) {
    const int64_t label = labels.data<int64_t>()[i];
    if (classes.contain(label)) continue;
    raise_input_error("the target holds class ", label, " in row ", first_row + i / width, "; ", told(classes));
  }
}

/// Calls look(batch, number of its first row) for all samples, which lie in memory.
template <typename Look>
void for_all_rows(const data::Dataset& data, const Look& look) {
  constexpr size_t kBytesAtOnce = size_t{4} << 20;
  const data::Batch row = data.allocate(1);
  size_t bytes = 1;
  for (const std::vector<Tensor>* tensors : {&row.inputs, &row.targets}) {
    for (const Tensor& tensor : *tensors) bytes += tensor.num_bytes();
  }
  const auto rows_at_once = static_cast<int64_t>(std::max<size_t>(kBytesAtOnce / bytes, 1));
  std::vector<int64_t> indices;
  for (int64_t begin = 0; begin < data.size(); begin += rows_at_once) {
    indices.resize(static_cast<size_t>(std::min(rows_at_once, data.size() - begin)));
    std::iota(indices.begin(), indices.end(), begin);
    look(data.fetch(indices), begin);
  }
}

bool holds_whole_numbers(const Tensor& values) {
  const Tensor wide = values.to(DType::kF64);
  const double* data = wide.data<double>();
  return std::all_of(data, data + wide.num_elements(), [](double value) { return std::trunc(value) == value; });
}

/// The element types and shapes in which a target may be meant, the likeliest first.
std::vector<TensorType> likely_targets(const TensorType& given, bool may_be_whole) {
  std::vector<DType> dtypes{is_floating(given.dtype) ? DType::kF32 : DType::kI64};
  if (!is_floating(given.dtype)) dtypes.push_back(DType::kF32);
  if (is_floating(given.dtype) && may_be_whole) dtypes.push_back(DType::kI64);
  const Shape& shape = given.shape;
  std::vector<Shape> shapes{shape};
  if (shape.rank() == 1) shapes.push_back({shape[0], 1});
  if (shape.rank() == 2 && shape[1] == 1) shapes.push_back({shape[0]});
  std::vector<TensorType> types;
  for (const DType dtype : dtypes) {
    for (const Shape& likely : shapes) types.push_back({dtype, likely});
  }
  return types;
}

/// Puts the outputs for some rows at a time together.
class OutputRows {
 public:
  explicit OutputRows(int64_t rows) : rows_(rows) {}

  void add(const std::vector<Tensor>& outputs, int64_t begin, int64_t end) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      Shape shape = outputs[i].shape();
      if (shape.rank() == 0 || shape[0] != end - begin) {
        raise_input_error("output ", i, " has shape ", shape, " for ", end - begin,
                          " rows: predict with the model itself");
      }
      shape[0] = rows_;
      if (begin == 0) results_.emplace_back(outputs[i].dtype(), shape);
      std::memcpy(results_[i].rows(begin, end).raw(), outputs[i].raw(), outputs[i].num_bytes());
    }
  }
  std::vector<Tensor> take() { return std::move(results_); }

 private:
  int64_t rows_;
  std::vector<Tensor> results_;
};

}  // namespace

Tensor join_columns(const std::vector<NamedColumn>& columns, DType dtype) {
  if (columns.empty()) raise_input_error("there are no columns");
  const int64_t rows = rows_of(columns.front().values, "column '" + columns.front().name + "'");
  const auto width = static_cast<int64_t>(columns.size());
  Tensor joined(DType::kF64, {rows, width});
  for (int64_t c = 0; c < width; ++c) {
    const auto& [name, values] = columns[static_cast<size_t>(c)];
    if (values.shape() != Shape{rows}) {
      raise_input_error("column '", name, "' has shape ", values.shape(), "; the first one has ", rows, " rows");
    }
    const Tensor wide = values.to(DType::kF64);
    for (int64_t r = 0; r < rows; ++r) joined.data<double>()[r * width + c] = wide.data<double>()[r];
  }
  return joined.to(dtype);
}

void require_no_nan(const Tensor& values, const std::string& what, const std::vector<std::string>& columns) {
  const int64_t first = first_nan(values);
  if (first == values.num_elements()) return;
  const int64_t count = values.dtype() == DType::kF32 ? count_nan<float>(values) : count_nan<double>(values);
  raise_input_error(what, " holds NaN in ", place_of(values, first, columns, 0),
                    count > 1 ? " and " + std::to_string(count - 1) + " more" : "", kNanAdvice);
}

std::string nan_in(const data::Batch& batch, const Graph& graph, int64_t first_row) {
  const auto look = [&](const Tensor& values, const std::string& what) {
    const int64_t first = first_nan(values);
    if (first == values.num_elements()) return std::string();
    return what + " holds NaN in " + place_of(values, first, {}, first_row);
  };
  std::string found;
  for (size_t i = 0; i < batch.inputs.size() && found.empty(); ++i) {
    const bool named = i < graph.inputs().size();
    found = look(batch.inputs[i], named ? "input '" + graph.inputs()[i]->name() + "'" : "input " + std::to_string(i));
  }
  for (size_t i = 0; i < batch.targets.size() && found.empty(); ++i) {
    found = look(batch.targets[i], batch.targets.size() == 1 ? "the target" : "target " + std::to_string(i));
  }
  return found;
}

void require_no_nan(const data::Dataset& data, const Graph& graph) {
  if (!data.is_in_memory()) return;
  bool possible = false;
  for (const TensorType& type : data.input_types()) possible = possible || may_hold_nan(type.dtype);
  for (const TensorType& type : data.target_types()) possible = possible || may_hold_nan(type.dtype);
  if (!possible) return;
  for_all_rows(data, [&](const data::Batch& batch, int64_t first_row) {
    const std::string found = nan_in(batch, graph, first_row);
    if (!found.empty()) raise_input_error(found, kNanAdvice);
  });
}

void require_known_classes(const data::Dataset& data, const Graph& graph, const Loss& loss) {
  const std::optional<int64_t> highest = data.highest_class();
  if ((!data.is_in_memory() && !highest) || data.target_types().size() != 1) return;
  const std::optional<ClassNumbers> classes = class_numbers(try_target(data.target_types()[0], graph, loss));
  if (!classes) return;
  if (highest && !classes->contain(*highest)) {
    raise_input_error("the data have the classes 0 to ", *highest, "; ", told(*classes));
  }
  if (!data.is_in_memory()) return;
  for_all_rows(data, [&](const data::Batch& batch, int64_t first_row) {
    require_known_classes(batch.targets[0], *classes, first_row);
  });
}

Tensor fit_input(const Tensor& given, const Value& input, const std::vector<std::string>& columns) {
  const std::string what = "input '" + input.name() + "'";
  rows_of(given, what);
  if (!fits_shape(given.shape(), input.shape()) || (is_floating(given.dtype()) && !is_floating(input.dtype()))) {
    raise_input_error(what, " takes ", input.type(), ", got ", given.type());
  }
  require_no_nan(given, what, columns);
  return given.to(input.dtype());
}

Tensor fit_target(const Tensor& given, const Graph& graph, const Loss& loss) {
  const std::string what = "the target";
  rows_of(given, what);
  require_no_nan(given, what);
  std::string first_failure;
  const bool may_be_whole = is_floating(given.dtype()) && holds_whole_numbers(given);
  for (const TensorType& type : likely_targets(given.type(), may_be_whole)) {
    const Trial trial = try_target(type, graph, loss);
    if (trial.failure.empty()) {
      const Tensor target = given.to(type.dtype).reshaped(type.shape);
      if (const std::optional<ClassNumbers> classes = class_numbers(trial)) require_known_classes(target, *classes);
      return target;
    }
    if (first_failure.empty()) first_failure = trial.failure;
  }
  raise_input_error("the loss does not take a target of ", given.type(), ": ", first_failure);
}

std::optional<TensorType> fitting_target_type(const TensorType& given, const Graph& graph, const Loss& loss) {
  std::vector<TensorType> types = likely_targets(given, true);
  types.insert(types.begin(), given);
  const auto fitting = std::find_if(types.begin(), types.end(), [&](const TensorType& type) {
    return try_target(type, graph, loss).failure.empty();
  });
  return fitting == types.end() ? std::nullopt : std::optional(*fitting);
}

std::vector<AcceptedTarget> accepted_targets(const Graph& graph, const Loss& loss) {
  constexpr int64_t kAnyRows = 2;
  TW_REQUIRE(!graph.outputs().empty(), "a model without outputs cannot be trained");
  const std::vector<int64_t>& output = graph.outputs()[0]->shape().dims();
  std::vector<std::vector<int64_t>> shapes = {{}, {1}};
  if (output.size() > 1) shapes.emplace_back(output.begin() + 1, output.end());
  if (output.size() > 2) shapes.emplace_back(output.begin() + 2, output.end());
  std::vector<AcceptedTarget> result;
  for (const std::vector<int64_t>& row : shapes) {
    std::vector<int64_t> dims = row;
    dims.insert(dims.begin(), kAnyRows);
    for (const DType dtype : {DType::kI64, DType::kF32}) {
      const TensorType type{dtype, Shape(row)};
      const auto same_type = [&](const AcceptedTarget& other) { return other.type == type; };
      if (!type.shape.is_static() || std::any_of(result.begin(), result.end(), same_type)) continue;
      const Trial trial = try_target({dtype, Shape(dims)}, graph, loss);
      if (trial.failure.empty()) result.push_back({type, class_numbers(trial)});
    }
  }
  return result;
}

void require_same_rows(const std::vector<Tensor>& tensors, const std::vector<std::string>& names) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const int64_t rows = rows_of(tensors[i], names[i]);
    if (rows == tensors[0].shape()[0]) continue;
    raise_input_error(names[i], " has ", rows, " rows, ", names[0], " has ", tensors[0].shape()[0]);
  }
}

std::vector<Tensor> predict_in_batches(Model& model, const std::vector<Tensor>& inputs, int64_t batch_size) {
  if (inputs.empty() || batch_size < 1) raise_input_error("there is nothing to predict from");
  const int64_t rows = rows_of(inputs.front(), "the first input");
  if (rows <= batch_size) return model.predict(inputs);
  OutputRows all(rows);
  for (int64_t begin = 0; begin < rows; begin += batch_size) {
    const int64_t end = std::min(begin + batch_size, rows);
    std::vector<Tensor> batch;
    for (const Tensor& input : inputs) batch.push_back(input.rows(begin, end));
    all.add(model.predict(batch), begin, end);
  }
  return all.take();
}

std::vector<Tensor> predict_in_batches(Model& model, const data::Dataset& data, int64_t batch_size) {
  const data::BatchSampler sampler(data.size(), {.batch_size = batch_size, .shuffle = false});
  data::Loader loader(data, sampler, {.max_batches = sampler.batches_per_epoch()});
  OutputRows all(data.size());
  int64_t begin = 0;
  for (data::LoadedBatch loaded; loader.next(loaded); begin += loaded.batch.size()) {
    all.add(model.predict(loaded.batch.inputs), begin, begin + loaded.batch.size());
  }
  return all.take();
}

}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>

#include "thalweg/fit_data.h"
#include "thalweg/input_error.h"
#include "train/target_type.h"

namespace thalweg {
namespace {

Shape with_rows(Shape shape, int64_t rows) {
  shape[0] = rows;
  return shape;
}

/// Throws unless all are whole: `indices` are the samples of the rows.
void require_whole_numbers(const Tensor& values, std::span<const int64_t> indices) {
  const Tensor wide = values.to(DType::kF64);
  const double* data = wide.data<double>();
  const int64_t width = wide.num_elements() / static_cast<int64_t>(indices.size());
  for (int64_t i = 0; i < wide.num_elements(); ++i) {
    if (std::trunc(data[i]) == data[i]) continue;
    const int64_t sample = indices[static_cast<size_t>(i / width)];
    if (std::isnan(data[i])) raise_input_error("the target holds NaN in sample ", sample, ": leave it out or fill it");
    raise_input_error("the target of sample ", sample, " is ", data[i],
                      ", but the loss takes numbers of classes: for numbers with fractions take another, such as mse");
  }
}

/// The samples of a dataset with one target, which has another type.
class FittedTarget : public data::Dataset {
 public:
  FittedTarget(data::DatasetPtr source, TensorType target)
      : source_(std::move(source)), given_(source_->target_types().at(0)), target_(std::move(target)) {}

  int64_t size() const override { return source_->size(); }
  std::vector<TensorType> input_types() const override { return source_->input_types(); }
  std::vector<TensorType> target_types() const override { return {target_}; }
  bool is_costly() const override { return source_->is_costly(); }
  bool is_in_memory() const override { return source_->is_in_memory(); }
  std::optional<int64_t> highest_class() const override { return source_->highest_class(); }

  void read(std::span<const int64_t> indices, const data::Draw& draw, const data::Batch& batch,
            int64_t row) const override {
    const auto rows = static_cast<int64_t>(indices.size());
    if (rows == 0) return;
    const Tensor wanted = batch.targets.at(0).rows(row, row + rows);
    const Shape shape = with_rows(given_.shape, rows);
    const bool in_place = given_.dtype == target_.dtype;
    const Tensor read = in_place ? wanted.reshaped(shape) : Tensor(given_.dtype, shape);
    data::Batch part;
    for (const Tensor& input : batch.inputs) part.inputs.push_back(input.rows(row, row + rows));
    part.targets = {read};
    source_->read(indices, draw, part, 0);
    if (!in_place) std::memcpy(wanted.raw(), fitted(read, indices).raw(), wanted.num_bytes());
  }

  std::optional<data::Batch> lend(std::span<const int64_t> indices) const override {
    std::optional<data::Batch> batch = source_->lend(indices);
    if (batch && !indices.empty()) batch->targets.at(0) = fitted(batch->targets.at(0), indices);
    return batch;
  }

 private:
  Tensor fitted(const Tensor& given, std::span<const int64_t> indices) const {
    if (is_floating(given.dtype()) && !is_floating(target_.dtype)) require_whole_numbers(given, indices);
    return given.to(target_.dtype).reshaped(with_rows(target_.shape, given.shape()[0]));
  }

  data::DatasetPtr source_;
  TensorType given_, target_;
};

}  // namespace

data::DatasetPtr fit_target(data::DatasetPtr data, const Graph& graph, const Loss& loss) {
  const std::vector<TensorType> given = data->target_types();
  if (given.size() != 1 || given[0].shape.rank() == 0) return data;
  const std::optional<TensorType> fitting = fitting_target_type(given[0], graph, loss);
  if (!fitting || *fitting == given[0]) return data;
  return std::make_shared<FittedTarget>(std::move(data), *fitting);
}

}  // namespace thalweg

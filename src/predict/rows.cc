// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/row_preparation.h"
#include "thalweg/predictor.h"

namespace thalweg {

std::vector<data::TableInput> table_inputs(const Model& model, DType unknown) {
  std::vector<data::TableInput> inputs;
  for (const ValueDescription& input : model.inputs()) {
    inputs.push_back({input.name, {input.dtype.value_or(unknown), input.shape.value_or(Shape{kFree, kFree})}});
  }
  return inputs;
}

std::vector<Tensor> Predictor::from_texts(std::span<const std::string> texts) const {
  return data::text_inputs(metadata_, table_inputs(model_, DType::kI64), texts);
}

}  // namespace thalweg

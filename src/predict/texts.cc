// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "thalweg/input_error.h"
#include "thalweg/predictor.h"

namespace thalweg {

std::vector<Tensor> Predictor::from_texts(std::span<const std::string> texts) const {
  if (!takes_texts()) {
    raise_input_error("the model's file does not say how text becomes its input (its metadata lack thalweg.text)");
  }
  const ValueDescription& input = model_.inputs().at(0);
  if (model_.inputs().size() != 1) {
    raise_input_error("text is data for a model with one input, this one has ", model_.inputs().size());
  }
  if (input.dtype.value_or(DType::kI64) != DType::kI64) {
    raise_input_error("text becomes i64; input ", printable(input.name), " takes ", name_of(*input.dtype));
  }
  const data::TextPreprocessing& text = *metadata_.text;
  const Tensor rows(DType::kI64, {static_cast<int64_t>(texts.size()), text.shape.length});
  auto* row = rows.data<int64_t>();
  for (const std::string& one : texts) {
    text.encode(one, row);
    row += text.shape.length;
  }
  return {rows};
}

}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "optimize/edited_graph.h"
#include "thalweg/optimize.h"

namespace thalweg {

/// Answers of the f32 model to the data, a list of outputs for each batch.
using Answers = std::vector<std::vector<Tensor>>;

/// How well the model's answers agree with `expected`, over the first `batches` batches.
Agreement agreement_of(const EditedGraph& model, const Answers& expected, const OptimizeOptions& options,
                       size_t batches);

struct QuantizedModel {
  EditedGraph model;
  Agreement agreement;
  int layers = 0;
  std::vector<std::string> kept;
};

/// The model in int8 with as many layers as the agreement allows: layers that hurt it most, each tried alone, stay in
/// f32 until it holds, or until none is left.
QuantizedModel search_int8(const EditedGraph& model, const Answers& expected, const OptimizeOptions& options);

}  // namespace thalweg

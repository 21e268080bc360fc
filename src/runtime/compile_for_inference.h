// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "runtime/program.h"

namespace thalweg {

/// Compiles a static graph in the form for inference. A precision below f32 allows less exact results and does not ask
/// for them: with measured tuning the program computes in f32 where the other was measured to be slower, with these
/// inputs, once on each kind of CPU.
std::shared_ptr<Program> compile_for_inference(std::unique_ptr<Graph> graph,
                                               const std::shared_ptr<Variables>& variables, Precision precision,
                                               const CompileOptions& options, const std::vector<Tensor>& inputs);

}  // namespace thalweg

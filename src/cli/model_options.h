// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/command.h"
#include "thalweg/model.h"

namespace thalweg::cli {

/// The options of every command that loads a model.
struct ModelOptions {
  std::string path;
  int threads = 0;
  /// "": what the model's metadata asks for.
  std::string precision;

  void add_to(CLI::App& options);
  /// `threads_each` for each concurrent call, where not --threads.
  Model load(int threads_each = 0, Tuning tuning = Tuning::kMeasured) const;
};

/// Options that give a model inputs which nobody has data for: random numbers, of shapes from the model and the user.
struct RandomInputOptions {
  int64_t batch = 0;
  /// "name=1x3x224x224", or without the name if there is one input.
  std::vector<std::string> shapes;

  void add_to(CLI::App& options);
  /// Throws UsageError if a shape does not fit or is not known.
  std::vector<Tensor> make(const Model& model) const;
};

/// Name, element type and shape of an input or output.
Json describe(const ValueDescription& value);
/// As "x f32[N, 3, 224, 224]".
std::string describe_text(const Json& value);

}  // namespace thalweg::cli

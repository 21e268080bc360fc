// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// What a compiled program consists of, and where its time goes.
namespace thalweg {

/// One step: a node of the graph, or a change of layout that the runtime put in.
struct StepProfile {
  /// "-" for a change of layout.
  std::string op;
  std::string name;
  std::string kernel;
  /// Element type, layout and shape of each output, as "f32 nChw16c [1, 64, 56, 56]".
  std::vector<std::string> outputs;
  size_t output_bytes = 0;
  /// Nothing is done: the output is the input's memory seen with another shape.
  bool is_view = false;
  /// That work on it: fewer than the program's where it is not worth more.
  int threads = 0;
  /// Why better kernels declined, a line each.
  std::vector<std::string> declined;
  /// Mean of a run; negative if nobody measured it.
  double milliseconds = -1;
};

struct ProgramProfile {
  std::string name;
  int threads = 0;
  /// Memory that each concurrent run has for itself.
  size_t arena_bytes = 0;
  /// Arrangements of weights beside the weights themselves.
  size_t derived_bytes = 0;
  /// Carried out once for given weights, not in every run.
  std::vector<StepProfile> once;
  std::vector<StepProfile> steps;
};

/// A line per step, below a line about the program.
std::string to_string(const ProgramProfile& profile);

}  // namespace thalweg

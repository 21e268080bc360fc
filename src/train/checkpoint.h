// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "thalweg/safetensors.h"

namespace thalweg {

/// A checkpoint is a folder step-<iteration> of safetensors files: the model's weights (which any program can load by
/// themselves), the optimiser's state, and, if there are any, the best weights so far and what the workers of a group
/// have besides. The trainer's own state is JSON in the metadata of the optimiser's file.
struct Checkpoint {
  int64_t iteration = 0;
  std::vector<NamedTensor> weights;
  std::vector<NamedTensor> optimizer;
  /// May be empty.
  std::vector<NamedTensor> best_weights;
  /// Of a scheme, which alone knows what it means; may be empty.
  std::vector<NamedTensor> scheme;
  std::string trainer_json;
};

inline constexpr const char* kWeightsFile = "model.safetensors";
inline constexpr const char* kOptimizerFile = "optimizer.safetensors";
inline constexpr const char* kBestFile = "best.safetensors";
inline constexpr const char* kSchemeFile = "scheme.safetensors";

/// Written aside and renamed once all of it is on disk: a folder of that name is always complete. Then the oldest ones
/// beyond `keep` go. Returns the folder. When it throws, what was there before is still there.
std::string write_checkpoint(const std::string& directory, const Checkpoint& checkpoint, int keep);

/// `path` itself if it is a checkpoint, otherwise the newest complete one in it; empty if there is none.
std::string find_checkpoint(const std::string& path);

/// The trainer's state in a checkpoint's optimiser file. Throws Error naming the file if it has none.
std::string trainer_json(const SafetensorsFile& optimizer_file);

}  // namespace thalweg

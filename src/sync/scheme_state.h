// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "train/checkpoint.h"

namespace thalweg::sync {

/// How a piece of the state of training is spread over the workers. What checkpoints, recovery and the admission of
/// newcomers do with it follows from this alone.
enum class Held {
  kReplicated,  ///< everybody has all of it: whoever is furthest hands it to those who are behind, or new
  kSharded,     ///< each worker has a part: parts are brought together before they are handed on or written
  kLocal        ///< each worker has its own: a checkpoint has those of all, and who is lost takes its own along
};

/// How a scheme has the weights and the optimiser's state held.
struct Holdings {
  Held weights = Held::kReplicated;
  Held optimizer = Held::kReplicated;
};

/// What a scheme's part of a checkpoint consists of. In a checkpoint all of it is one list of tensors.
struct SchemeState {
  /// The same at every worker.
  std::vector<NamedTensor> common;
  /// Of each worker, by rank at the time: names that begin with "weights/" and "optimizer/" are those of a worker whose
  /// weights are its own.
  std::vector<std::vector<NamedTensor>> workers;
};
std::vector<NamedTensor> pack(const SchemeState& state);
/// Throws Error if the tensors are no such list: they come from a file, or from somebody else.
SchemeState unpack(const std::vector<NamedTensor>& tensors);

/// Which scheme was chosen for the run (choose/choice.h), as text beside such a state. Empty if there is none, or none
/// that could be one.
void add_choice(std::vector<NamedTensor>& tensors, const std::string& choice);
std::string choice_in(const std::vector<NamedTensor>& tensors);

/// Adds a prefix to names, and takes the tensors whose names have it, without it.
std::vector<NamedTensor> with_prefix(const std::string& prefix, std::vector<NamedTensor> tensors);
std::vector<NamedTensor> under_prefix(const std::string& prefix, const std::vector<NamedTensor>& tensors);

}  // namespace thalweg::sync

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace thalweg::cli {

/// Something about this machine or process that makes Thalweg slower than it could be, or surprises people.
struct Advice {
  /// A variable with its value, or a part of the machine.
  std::string about;
  std::string text;
};

/// What environment variables and settings of the system are worth a word.
std::vector<Advice> advise();

/// Which pages large allocations get ("always", "madvise", "never"); "" if the system does not say.
std::string huge_pages();

}  // namespace thalweg::cli

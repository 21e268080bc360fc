// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thalweg::data {

/// Labels of samples that were given as text, and the class of each label.
struct Labels {
  std::vector<int64_t> labels;
  std::vector<std::string> classes;
};

/// If every text is a whole number, these are the labels; otherwise classes are numbered in the order of their names.
Labels number_classes(const std::vector<std::string>& texts);

}  // namespace thalweg::data

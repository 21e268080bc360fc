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
/// Throws Error that begins with `where` if a number is too large to be that of a class: there is a name for each up to
/// the largest.
Labels number_classes(const std::string& where, const std::vector<std::string>& texts);

}  // namespace thalweg::data

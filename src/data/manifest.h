// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/file_list.h"

namespace thalweg::data {

/// Images with their labels, and the class of each label.
struct LabelledFiles {
  TextList paths;
  std::vector<int64_t> labels;
  std::vector<std::string> classes;
};

/// Reads a manifest as ImageFolderOptions describes it. Throws Error naming the file and line that is wrong.
LabelledFiles read_manifest(const std::string& path);

}  // namespace thalweg::data

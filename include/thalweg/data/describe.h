// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "thalweg/data/image.h"

namespace thalweg::data {

/// What a directory of images holds.
struct ImageSummary {
  int64_t images = 0;
  /// Images of each folder, if each is a class; empty otherwise.
  std::map<std::string, int64_t> classes;
  std::map<std::string, int64_t> formats;
  /// Over the images that could be decoded.
  ImageSize smallest, largest;
  double mean_height = 0, mean_width = 0;
  /// Why each of the others could not, beginning with its path; in the order of the paths.
  std::vector<std::string> bad;
};

/// Called now and then, by one thread at a time, with the number of files done and of all.
using Progress = std::function<void(int64_t done, int64_t all)>;

/// Decodes every image below a directory, on as many threads as there are processors (or `threads`).
ImageSummary describe_images(const std::string& directory, const DecodeOptions& options = {},
                             const Progress& progress = {}, int threads = 0);

/// As lines of text, with at most `most` bad files.
std::string to_string(const ImageSummary& summary, size_t most = 20);

}  // namespace thalweg::data

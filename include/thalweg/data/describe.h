// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "thalweg/data/files.h"
#include "thalweg/data/image.h"
#include "thalweg/data/text.h"

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

/// Of a directory somewhere else (data/remote_files.h).
ImageSummary describe_images(const Files& files, const DecodeOptions& options = {}, const Progress& progress = {},
                             int threads = 0);

/// As lines of text, with at most `most` bad files.
std::string to_string(const ImageSummary& summary, size_t most = 20);

/// What a text file holds.
struct TextSummary {
  /// Those that are not empty.
  int64_t lines = 0;
  /// Lines of each class, if every line begins with one and a tab, as TextLines reads it; empty otherwise.
  std::map<std::string, int64_t> classes;
  /// Tokens of a line: the shortest and the longest, and the length that half, nine tenths and 99 hundredths of the
  /// lines do not exceed, for SequenceShape::length.
  int64_t shortest = 0, longest = 0, half = 0, most = 0, nearly_all = 0;
  double mean_length = 0;
  /// Different tokens.
  int64_t tokens = 0;
};

/// Reads all of a text file; `progress` gets the bytes done and of all (0 if nobody knows).
TextSummary describe_text(const std::string& path, const TokenizeOptions& options = {}, const Progress& progress = {});
TextSummary describe_text(const Files& files, const std::string& path, const TokenizeOptions& options = {},
                          const Progress& progress = {});
std::string to_string(const TextSummary& summary, size_t most = 20);

}  // namespace thalweg::data

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/data/cache.h"
#include "thalweg/data/files.h"
#include "thalweg/data/transforms.h"

namespace thalweg::data {

/// Where the label of an image comes from.
enum class ImageLabels {
  kFolders,   ///< each folder in the directory is a class, numbered in the order of their names
  kManifest,  ///< a file says it
  kNone       ///< nowhere: there are no targets
};

/// What a cache keeps of an image.
enum class ImageCache {
  kFiles,  ///< the file's bytes: saves reading them
  kPixels  ///< all pixels: saves decoding as well, but takes many times the room
};

struct ImageFolderOptions {
  Pipeline pipeline = {};
  DecodeOptions decode = {};
  ImageLabels labels = ImageLabels::kFolders;
  /// A line for each image: its path within the directory, a tab or comma, and its class; lines that are empty or begin
  /// with # do not count. Classes that are all whole numbers are the labels themselves; others are numbered in the
  /// order of their names.
  std::string manifest = {};
  ImageCache cache_what = ImageCache::kFiles;
  CacheOptions cache = {};
};

/// The images (files ending in .jpg, .jpeg, .png, .gif, .bmp in any case) of a directory and all folders within it, in
/// the order of their paths; the target is the label as i64. Opening it lists the directory; files are read as they are
/// needed, and one that cannot be is an Error that begins with its path.
class ImageFolder : public Dataset {
 public:
  ImageFolder(const std::string& directory, const ImageFolderOptions& options);
  /// Of a directory somewhere else. Paths in a manifest, which itself is a file of this machine, are within it.
  ImageFolder(FilesPtr files, const ImageFolderOptions& options);
  ~ImageFolder() override;

  int64_t size() const override;
  std::vector<TensorType> input_types() const override;
  std::vector<TensorType> target_types() const override;
  void read(std::span<const int64_t> indices, const Draw& draw, const Batch& batch, int64_t row) const override;
  bool is_costly() const override { return true; }
  std::optional<int64_t> highest_class() const override {
    int64_t highest = -1;
    for (int64_t i = 0; i < size(); ++i) highest = std::max(highest, label(i));
    return highest < 0 ? std::nullopt : std::optional(highest);
  }

  /// The class of each label.
  const std::vector<std::string>& classes() const;
  std::string path(int64_t index) const;
  const Pipeline& pipeline() const;
  /// -1 without labels.
  int64_t label(int64_t index) const;
  CacheStatus cache_status() const;

 private:
  class Impl;
  /// Shared with its readers: one that a loader has left behind may come back when this object is gone.
  std::shared_ptr<Impl> impl_;
};

}  // namespace thalweg::data

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/data/files.h"
#include "thalweg/vision/annotations.h"

/// Files that say which objects are in pictures. Whatever is in them, reading ends with what could be used or with an
/// Error that begins with the file's name and says the place.
namespace thalweg::data {

/// What was wrong with single annotations, none of which is a reason not to read the others.
struct AnnotationProblems {
  static constexpr size_t kMostExamples = 10;

  /// How often each kind came up, as "unknown category".
  std::map<std::string, int64_t> kinds = {};
  /// The first few, each with its place and what was done about it.
  std::vector<std::string> examples = {};

  void add(const std::string& kind, const std::string& example);
  void add(const AnnotationProblems& others);
  int64_t count() const;
};

/// "unknown category: 3, no polygon: 1 (annotations[7]: ...; ...)", "" if there is none.
std::string to_string(const AnnotationProblems& problems);

struct AnnotationOptions {
  /// The first problem is an Error.
  bool strict = false;
};

struct ReadAnnotations {
  vision::Annotations annotations;
  AnnotationProblems problems;
};

/// COCO's instances format: pictures, categories, and objects with box, area, crowd, and polygons or runs as masks. An
/// object of a picture or category that is not listed is left out; one whose mask cannot be used stays without a mask;
/// one whose box is empty or outside of its picture stays, since COCO's tools count it as missed. All are problems.
ReadAnnotations parse_coco(std::string_view json, const std::string& name, const AnnotationOptions& options = {});
ReadAnnotations read_coco(const std::string& path, const AnnotationOptions& options = {});
/// Of a file somewhere else (data/remote_files.h).
ReadAnnotations read_coco(const Files& files, const std::string& path, const AnnotationOptions& options = {});

/// COCO's results format: a list of {"image_id", "category_id", "score", "bbox" and/or "segmentation"}. If the first
/// has a box, all have one, and areas are those of boxes; otherwise areas and boxes are those of the masks, which are
/// runs.
std::vector<vision::Detection> parse_coco_results(std::string_view json, const std::string& name);
std::vector<vision::Detection> read_coco_results(const std::string& path);
std::vector<vision::Detection> read_coco_results(const Files& files, const std::string& path);

struct VocFolderOptions {
  bool strict = false;
  /// A file that lists the pictures, a name a line, within the directory: "ImageSets/Main/val.txt". Empty: all that
  /// have annotations.
  std::string list = {};
};

/// A directory as of PASCAL VOC: Annotations/*.xml, and pictures in JPEGImages. VOC's twenty classes have their
/// numbers, 1 to 20; if there are others, the classes that occur are numbered from 1 in the order of their names. A
/// picture's id is the number in its name ("2007_000027" is 2007000027), or, where a name has none, pictures are
/// numbered from 1. Difficult objects are crowds.
ReadAnnotations read_voc(const std::string& directory, const VocFolderOptions& options = {});
ReadAnnotations read_voc(const Files& files, const VocFolderOptions& options = {});

}  // namespace thalweg::data

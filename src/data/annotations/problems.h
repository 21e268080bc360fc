// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/data/annotations.h"

namespace thalweg::data {

/// Names of kinds of problems, which tests and users look for.
namespace problem {
inline constexpr const char* kUnknownCategory = "unknown category";
inline constexpr const char* kUnknownPicture = "unknown picture";
inline constexpr const char* kListedTwice = "listed twice";
inline constexpr const char* kBox = "box empty or outside";
inline constexpr const char* kMask = "mask that cannot be used";
inline constexpr const char* kPolygon = "polygon without an area";
inline constexpr const char* kNoPicture = "picture missing";
}  // namespace problem

/// Collects the problems of one file.
class ProblemList {
 public:
  ProblemList(std::string file, bool strict) : file_(std::move(file)), strict_(strict) {}
  /// Throws if nothing may be wrong.
  void add(const char* kind, const std::string& place, const std::string& what);
  AnnotationProblems take() { return std::move(problems_); }

 private:
  std::string file_;
  bool strict_;
  AnnotationProblems problems_;
};

/// Notes a box that is empty or has nothing in the picture, if that is of a known size.
void check_box(const vision::Object& object, const vision::Picture& picture, const std::string& place,
               ProblemList& problems);

}  // namespace thalweg::data

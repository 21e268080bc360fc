// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/annotations/problems.h"

#include "thalweg/error.h"

namespace thalweg::data {

void AnnotationProblems::add(const std::string& kind, const std::string& example) {
  ++kinds[kind];
  if (examples.size() < kMostExamples) examples.push_back(example);
}

void AnnotationProblems::add(const AnnotationProblems& others) {
  for (const auto& [kind, count] : others.kinds) kinds[kind] += count;
  for (const std::string& example : others.examples) {
    if (examples.size() < kMostExamples) examples.push_back(example);
  }
}

int64_t AnnotationProblems::count() const {
  int64_t sum = 0;
  for (const auto& [kind, count] : kinds) sum += count;
  return sum;
}

std::string to_string(const AnnotationProblems& problems) {
  std::string text;
  for (const auto& [kind, count] : problems.kinds) {
    text += (text.empty() ? "" : ", ") + kind + ": " + std::to_string(count);
  }
  if (text.empty()) return text;
  text += " (";
  for (size_t i = 0; i < problems.examples.size(); ++i) text += (i > 0 ? "; " : "") + problems.examples[i];
  if (problems.count() > static_cast<int64_t>(problems.examples.size())) text += "; ...";
  return text + ")";
}

void ProblemList::add(const char* kind, const std::string& place, const std::string& what) {
  const std::string text = place + ": " + kind + ": " + what;
  TW_REQUIRE(!strict_, file_, ": ", text);
  problems_.add(kind, text);
}

void check_box(const vision::Object& object, const vision::Picture& picture, const std::string& place,
               ProblemList& problems) {
  const vision::Box& box = object.box;
  bool is_inside = box.width > 0 && box.height > 0 && box.x + box.width > 0 && box.y + box.height > 0;
  if (picture.width > 0 && picture.height > 0) {
    is_inside = is_inside && box.x < static_cast<double>(picture.width) && box.y < static_cast<double>(picture.height);
  }
  if (is_inside) return;
  std::ostringstream text;
  text << "(" << box.x << ", " << box.y << ") with extents (" << box.width << ", " << box.height << ") in a picture of "
       << picture.width << " x " << picture.height << " pixels";
  problems.add(problem::kBox, place, text.str());
}

}  // namespace thalweg::data

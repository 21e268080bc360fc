// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "data/annotations/xml.h"
#include "thalweg/data/annotations.h"
#include "thalweg/error.h"
#include "thalweg/vision/coco.h"

/// What the fuzzers of annotations and masks run, and vision_corpus_test.cc repeats: anything but a result or an Error
/// is a finding.
namespace thalweg::fuzz {

/// The first two bytes are height and width. What is read must come back from what is written.
inline void read_runs(std::string_view bytes) {
  if (bytes.size() < 2) return;
  const int64_t height = static_cast<uint8_t>(bytes[0]);
  const int64_t width = static_cast<uint8_t>(bytes[1]);
  try {
    const vision::Rle mask = vision::Rle::from_text(height, width, bytes.substr(2));
    const bool same = vision::Rle::from_text(height, width, mask.text()) == mask &&
                      vision::Rle::from_mask(mask.mask()) == mask &&
                      vision::Rle::from_mask(mask.mask()).area() == mask.area();
    if (!same) std::abort();
    const vision::Rle edge = vision::boundary(mask, 0.05);
    if (vision::intersected(std::vector<vision::Rle>{mask, edge}) != edge) std::abort();
    vision::iou(mask, edge, true);
  } catch (const Error&) {
  }
}

/// Instances, and results of them: a byte of 1 lies between the two.
inline void read_annotations(std::string_view bytes) {
  const size_t between = bytes.find('\1');
  vision::Annotations annotations;
  try {
    annotations = data::parse_coco(bytes.substr(0, between), "fuzzed").annotations;
  } catch (const Error&) {
  }
  if (between == std::string_view::npos) return;
  try {
    const auto found = data::parse_coco_results(bytes.substr(between + 1), "fuzzed");
    // Masks of pictures that are large cost what they are: only small ones are compared.
    constexpr int64_t kMostPixels = 1 << 20;
    for (const vision::Picture& one : annotations.pictures) {
      if (one.height * one.width > kMostPixels) return;
    }
    for (const auto kind : {vision::OverlapKind::kBox, vision::OverlapKind::kMask, vision::OverlapKind::kBoundary}) {
      evaluate_coco(annotations, found, {.kind = kind, .threads = 1});
    }
  } catch (const Error&) {
  }
}

inline void read_xml(std::string_view bytes) {
  try {
    data::parse_xml(bytes, "fuzzed");
  } catch (const Error&) {
  }
}

}  // namespace thalweg::fuzz

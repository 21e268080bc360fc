// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thalweg::vision {

/// What became of a detection.
enum class Outcome : uint8_t { kWrong, kRight, kNotCounted };

/// Numbers of the detections of a category, best score first, equal ones in the order given.
std::vector<uint32_t> order_by_score(std::span<const double> scores);

/// How precision changes with recall as detections are added, best first.
struct Curve {
  /// After each detection that counts for something.
  std::vector<double> recall;
  std::vector<double> precision;

  /// `outcomes` in the order of the scores; `objects`, of which there is one, are what could be found. `none` is added
  /// to the number of detections that precision is divided by.
  void trace(std::span<const Outcome> outcomes, int64_t objects, double none = 0.0);
  /// Makes precision at each recall the highest at that recall or a higher one.
  void raise_to_envelope();
};

}  // namespace thalweg::vision

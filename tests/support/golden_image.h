// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "support/source_dir.h"
#include "thalweg/data/idx.h"

namespace thalweg::testing {

/// A file that tests/golden/images/make_images.py wrote.
inline std::string image_path(const std::string& name) { return TW_SOURCE_DIR "/tests/golden/images/" + name; }
inline Tensor golden_image(const std::string& name) { return data::read_idx(image_path(name + ".idx")); }

/// Same shape, no value further off than `worst`, and on average no more than `mean`.
inline void expect_pixels_near(const Tensor& actual, const Tensor& expected, int worst, double mean,
                               const std::string& what) {
  ASSERT_EQ(actual.type(), expected.type()) << what;
  int largest = 0;
  double sum = 0;
  for (int64_t i = 0; i < actual.num_elements(); ++i) {
    const int difference = std::abs(actual.data<uint8_t>()[i] - expected.data<uint8_t>()[i]);
    largest = std::max(largest, difference);
    sum += difference;
  }
  EXPECT_LE(largest, worst) << what;
  EXPECT_LE(sum / static_cast<double>(actual.num_elements()), mean) << what;
}

}  // namespace thalweg::testing

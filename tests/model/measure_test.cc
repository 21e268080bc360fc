// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "model/measure.h"

#include <gtest/gtest.h>

#include "formats/onnx/small_model.h"
#include "support/error_text.h"

namespace thalweg::testing {
namespace {

TEST(Measure, PercentilesAreValuesThatWereSeen) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  const Latency latency = latency_of(values);
  EXPECT_EQ(latency.p50, 50);
  EXPECT_EQ(latency.p90, 90);
  EXPECT_EQ(latency.p99, 99);
  EXPECT_EQ(latency.mean, 50.5);
  EXPECT_EQ(latency.min, 1);
  EXPECT_EQ(latency.max, 100);
  EXPECT_EQ(latency_of({7}).p50, 7);
  EXPECT_NE(error_text([] { latency_of({}); }), "no error");
}

TEST(Measure, EveryStreamRuns) {
  const Model model = Model::load_bytes(bytes_of(small_model()));
  const Measurement measured =
      measure(model, {Tensor::full<float>({1, 2}, 1.0F)}, {.streams = 3, .seconds = 0, .min_runs = 5});
  EXPECT_EQ(measured.runs, 15);
  EXPECT_GT(measured.runs_per_second(), 0);
}

TEST(Measure, AFailureInAnyStreamComesOut) {
  const Model model = Model::load_bytes(bytes_of(small_model()));
  const std::string text = error_text([&] {
    measure(model, {Tensor::full<float>({1, 9}, 1.0F)}, {.streams = 2, .seconds = 0});
  });
  EXPECT_NE(text.find("input \"x\" takes"), std::string::npos) << text;
}

}  // namespace
}  // namespace thalweg::testing

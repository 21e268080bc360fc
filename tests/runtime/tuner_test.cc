// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/tuner.h"

#include <gtest/gtest.h>

#include "support/op_check.h"
#include "support/temporary_directory.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

/// A candidate that says how long it took, and counts its runs.
TuningCandidate pretend(const std::string& name, double seconds, int* runs = nullptr) {
  return {name, [=] {
            if (runs != nullptr) ++*runs;
            return seconds;
          }};
}

TEST(Tuner, TakesTheFastestButPrefersTheFirst) {
  Tuner tuner("");
  EXPECT_EQ(tuner.choose("a", {pretend("direct", 1.0), pretend("quick", 0.8), pretend("slow", 2.0)}), "quick");
  EXPECT_EQ(tuner.choose("b", {pretend("direct", 1.0), pretend("barely", 0.98)}), "direct");
}

TEST(Tuner, OneBadMeasurementDecidesNothing) {
  for (int disturbed = 1; disturbed <= 4; ++disturbed) {
    Tuner tuner("");
    int runs = 0;
    const TuningCandidate quick{"quick", [&] { return ++runs == disturbed ? 3.0 : 0.5; }};
    EXPECT_EQ(tuner.choose("a", {pretend("direct", 1.0), quick}), "quick") << "with run " << disturbed << " disturbed";
  }
}

TEST(Tuner, RemembersInAFile) {
  const TemporaryDirectory folder;
  const std::string path = folder / "deeper/tuning.json";
  int runs = 0;
  EXPECT_EQ(Tuner(path).choose("a", {pretend("direct", 1.0), pretend("quick", 0.5, &runs)}), "quick");
  EXPECT_GT(runs, 1);
  Tuner again(path);
  runs = 0;
  EXPECT_EQ(again.choose("a", {pretend("direct", 0.1), pretend("quick", 0.5, &runs)}), "quick");
  EXPECT_EQ(runs, 0);
  // Another process found something meanwhile: both stay.
  Tuner other(path);
  other.choose("b", {pretend("direct", 1.0)});
  other.keep();
  again.choose("c", {pretend("direct", 1.0)});
  again.keep();
  Tuner all(path);
  all.choose("b", {pretend("direct", 1.0, &runs)});
  all.choose("c", {pretend("direct", 1.0, &runs)});
  EXPECT_EQ(runs, 0);
  // What is stored is no candidate any more.
  EXPECT_EQ(all.choose("a", {pretend("direct", 1.0), pretend("new", 0.5)}), "new");
}

TEST(Tuner, BadFilesAndFoldersDoNotMatter) {
  const TemporaryDirectory folder;
  for (const char* content : {"", "nonsense", "[1, 2]", "{\"a\": 7}", "{\"a\": \"gone\""}) {
    write_bytes(folder / "bad.json", content);
    EXPECT_EQ(Tuner(folder / "bad.json").choose("a", {pretend("direct", 1.0)}), "direct") << content;
  }
  Tuner nowhere("/proc/nowhere/tuning.json");
  EXPECT_EQ(nowhere.choose("a", {pretend("direct", 1.0)}), "direct");
  EXPECT_EQ(nowhere.choose("a", {pretend("direct", 1.0)}), "direct");
}

TEST(Tuner, MeasuredConvolutionsGiveTheSameAnswers) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 64, 14, 14}});
  Value* w = graph.parameter("w", random_tensor(DType::kF32, {64, 64, 3, 3}, 1));
  ops::ConvOptions same;
  same.pads = {1, 1};
  graph.mark_output(ops::conv(x, w, nullptr, same));
  const std::vector<Tensor> inputs{random_tensor(DType::kF32, {2, 64, 14, 14}, 2)};
  CompileOptions reference, measured;
  reference.only_kernels = {"reference"};
  measured.tuning = Tuning::kMeasured;
  expect_close(run_graph(graph, inputs, measured)[0], run_graph(graph, inputs, reference)[0], 2e-5, "output");
}

}  // namespace
}  // namespace thalweg::testing

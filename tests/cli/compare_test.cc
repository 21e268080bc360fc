// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/color_model.h"
#include "cli/program.h"
#include "thalweg/npy.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

/// y = x with x f32 [N, height, width]; or its negative.
onnx::ModelProto plane_model(const char* op) {
  onnx::ModelProto model = small_model();
  model.graph.initializer.clear();
  model.graph.input = {value_info("x", {-1, 6, 8})};
  model.graph.output = {value_info("y", {-1, 6, 8})};
  model.graph.node = {{"only", op, "", "", {"x"}, {"y"}, {}}};
  return model;
}

class Compare : public ::testing::Test {
 protected:
  Compare() {
    write_bytes(directory_ / "a.onnx", bytes_of(color_model(-1)));
    npy::write(directory_ / "x.npy", Tensor::full<float>({5, 3, 4, 4}, 2.0F));
  }
  ProcessResult compare(const std::string& a, const std::string& b, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"compare", directory_ / a, directory_ / b, directory_ / "x.npy"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }
  const TemporaryDirectory directory_;
};

TEST_F(Compare, AModelAgreesWithItself) {
  const auto report = json_of(compare("a.onnx", "a.onnx", {"--json", "--max-difference", "0"}));
  EXPECT_EQ(report["samples"], 5);
  const auto& output = report["outputs"][0];
  EXPECT_EQ(output["name"], "y");
  EXPECT_EQ(output["elements"], 15);
  EXPECT_EQ(output["max_absolute"], 0);
  EXPECT_NEAR(output["cosine"].get<double>(), 1, 1e-12);
  EXPECT_EQ(output["top1_agreement"], 1);
}

TEST_F(Compare, DifferencesAreMeasuredAndMayFail) {
  onnx::ModelProto other = color_model(2);  // a fixed batch: 5 samples are 3 batches, the last one filled up
  other.graph.node[1].output = {"f"};
  other.graph.node.push_back({"negative", "Neg", "", "", {"f"}, {"z"}, {}});
  other.graph.output = {value_info("z", {2, 3})};
  write_bytes(directory_ / "b.onnx", bytes_of(other));
  const auto report = json_of(compare("b.onnx", "b.onnx", {"--json"}));
  EXPECT_EQ(report["outputs"][0]["elements"], 15);
  const ProcessResult opposite = compare("a.onnx", "b.onnx", {"--max-difference", "0.5"});
  EXPECT_EQ(opposite.exit_code, 1);
  EXPECT_THAT(opposite.error, HasSubstr("output \"y\" differs by 2 of its largest element"));
  EXPECT_THAT(opposite.out, HasSubstr("-1.0000000"));  // the cosine
}

TEST_F(Compare, MasksAreComparedByTheirBoundaries) {
  write_bytes(directory_ / "a.onnx", bytes_of(plane_model("Identity")));
  write_bytes(directory_ / "b.onnx", bytes_of(plane_model("Neg")));
  Tensor x = Tensor::zeros(DType::kF32, {1, 6, 8});
  for (int64_t i = 18; i < 30; ++i) x.data<float>()[i] = 1;
  npy::write(directory_ / "x.npy", x);
  const auto same = json_of(compare("a.onnx", "a.onnx", {"--masks", "--dilation-ratios", "0.1,0.3", "--json"}));
  EXPECT_EQ(same["masks"]["iou"], 1);
  ASSERT_EQ(same["masks"]["boundary_iou"].size(), 2U);
  EXPECT_EQ(same["masks"]["boundary_iou"][1]["ratio"], 0.3);
  EXPECT_EQ(same["masks"]["boundary_iou"][1]["iou"], 1);
  const auto none = json_of(compare("a.onnx", "b.onnx", {"--masks", "--json"}));
  EXPECT_EQ(none["masks"]["iou"], 0);
  EXPECT_THAT(compare("a.onnx", "b.onnx", {"--masks"}).out, HasSubstr("boundary IoU"));
}

TEST_F(Compare, ModelsThatHaveNothingInCommonAreWrongUsage) {
  const ProcessResult run =
      run_program({"compare", golden_model("convnet"), golden_model("upscale"), directory_ / "x.npy", "--batch", "1"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.error, HasSubstr("the models have 1 and 2 outputs"));
}

}  // namespace
}  // namespace thalweg::testing

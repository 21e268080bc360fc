// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.h"
#include "support/source_dir.h"
#include "support/temporary_directory.h"
#include "thalweg/model.h"
#include "thalweg/npy.h"
#include "thalweg/safetensors.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

class Optimize : public ::testing::Test {
 protected:
  Optimize() {
    const SafetensorsFile golden(TW_SOURCE_DIR "/tests/golden/onnx/convnet.safetensors");
    npy::write(directory_ / "x.npy", golden.tensor("input_0"));
  }

  ProcessResult optimize(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"optimize", golden_model("convnet"), "--seconds", "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }

  const TemporaryDirectory directory_;
};

TEST_F(Optimize, WritesTheFastestFormThatAgrees) {
  const std::string out = directory_ / "fast.onnx";
  const ProcessResult run = optimize(
      {"--precision", "f32,int8", "--calibrate", directory_ / "x.npy", "-o", out, "--json", "--max-drop", "1"});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  const auto report = nlohmann::json::parse(run.out);
  EXPECT_EQ(report["forms"].size(), 2U);
  EXPECT_GT(report["forms"][1]["quantised_layers"], 0);
  EXPECT_NO_THROW(Model::load(out));
}

TEST_F(Optimize, TellsPeopleWithoutWriting) {
  const ProcessResult run = optimize({"--precision", "f32,f16"});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.out, HasSubstr("agreement"));
  EXPECT_THAT(run.out, HasSubstr("-o FILE would write it"));
}

TEST_F(Optimize, WrongArgumentsAreNamed) {
  EXPECT_EQ(optimize({"--precision", "int4"}).exit_code, 2);
  EXPECT_THAT(optimize({"--precision", "int4"}).error, HasSubstr("int4"));
  EXPECT_EQ(optimize({"--max-drop", "2"}).exit_code, 2);
  const ProcessResult no_data = optimize({"--precision", "int8"});
  EXPECT_EQ(no_data.exit_code, 1);
  EXPECT_THAT(no_data.error, HasSubstr("int8 needs data"));
  EXPECT_EQ(optimize({"--calibrate", directory_ / "none.npy"}).exit_code, 1);
}

}  // namespace
}  // namespace thalweg::testing

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.h"
#include "support/source_dir.h"
#include "support/temporary_directory.h"
#include "thalweg/model.h"

namespace thalweg::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kFolder = TW_SOURCE_DIR "/tests/golden/caffe/";

TEST(Convert, WritesACaffeNetworkAsOnnx) {
  const TemporaryDirectory folder;
  const std::string network = kFolder + "old.prototxt", weights = kFolder + "old.caffemodel";
  const ProcessResult result = run_program({"convert", network, weights, "-o", folder / "net.onnx"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_THAT(result.out, AllOf(HasSubstr("net.onnx: 526 parameters"), HasSubstr("takes data f32[?, 3, 15, 15]"),
                                HasSubstr("gives prob f32[?, 6]")));
  EXPECT_EQ(Model::load(folder / "net.onnx").weight_names().size(), 4U);
  // The weights are beside it; and an ONNX file becomes another.
  EXPECT_EQ(run_program({"convert", network, "-o", folder / "again.onnx"}).exit_code, 0);
  EXPECT_EQ(json_of(run_program({"convert", folder / "net.onnx", "-o", folder / "third.onnx", "--json"}))["parameters"],
            526);
}

TEST(Convert, SaysWhatItCannotRead) {
  const TemporaryDirectory folder;
  const std::string out = folder / "net.onnx";
  const ProcessResult export_file = run_program({"convert", "model.pt2", "-o", out});
  EXPECT_EQ(export_file.exit_code, 2);
  EXPECT_THAT(export_file.error, HasSubstr("thalweg.from_torch"));
  const ProcessResult weights = run_program({"convert", "model.onnx", "w.caffemodel", "-o", out});
  EXPECT_EQ(weights.exit_code, 2);
  EXPECT_THAT(weights.error, HasSubstr("only a Caffe network"));
  write_bytes(folder / "bad.prototxt", "layer { name: 'x'");
  const ProcessResult bad = run_program({"convert", folder / "bad.prototxt", kFolder + "old.caffemodel", "-o", out});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_THAT(bad.error, HasSubstr("is it cut short?"));
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace thalweg::testing

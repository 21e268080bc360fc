// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Caffe networks against the answers of OpenCV (tests/golden/make_caffe.py), saved as ONNX, and trained.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error_text.h"
#include "support/op_check.h"
#include "support/source_dir.h"
#include "support/temporary_directory.h"
#include "thalweg/losses.h"
#include "thalweg/model.h"
#include "thalweg/safetensors.h"

namespace thalweg {
namespace {

using testing::error_text;
using ::testing::HasSubstr;

const std::string kFolder = TW_SOURCE_DIR "/tests/golden/caffe/";

class CaffeGolden : public ::testing::TestWithParam<const char*> {
 protected:
  const SafetensorsFile golden{kFolder + GetParam() + ".safetensors"};
  const Tensor input = golden.load("input");
};

/// OpenCV's and Caffe's rows of all pictures after each other, without those that are not needed.
Tensor used_rows(const Tensor& detections) {
  std::vector<float> rows;
  const float* row = detections.data<float>();
  for (int64_t i = 0; i < detections.num_elements() / 7; ++i, row += 7) {
    if (row[0] >= 0) rows.insert(rows.end(), row, row + 7);
  }
  return Tensor::from<float>({1, 1, static_cast<int64_t>(rows.size()) / 7, 7}, rows);
}

void expect_answers(const Model& model, const SafetensorsFile& golden, const Tensor& input) {
  const std::vector<Tensor> outputs = model.predict({input});
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = model.outputs()[i].name;
    ASSERT_TRUE(golden.contains(name)) << name;
    const bool detections = outputs[i].shape()[-1] == 7 && name == "out";
    testing::expect_close(detections ? used_rows(outputs[i]) : outputs[i], golden.load(name), 2e-5, name);
  }
  EXPECT_EQ(outputs.size() + 1, golden.names().size());
}

TEST_P(CaffeGolden, SameAnswersAsOpenCv) {
  expect_answers(Model::load(kFolder + GetParam() + ".prototxt"), golden, input);
}

TEST_P(CaffeGolden, SameAnswersOnceSavedAsOnnx) {
  const testing::TemporaryDirectory folder;
  Model::load(kFolder + GetParam() + ".prototxt").save(folder / "net.onnx");
  expect_answers(Model::load(folder / "net.onnx"), golden, input);
}

INSTANTIATE_TEST_SUITE_P(All, CaffeGolden, ::testing::Values("convolutions", "functions", "ssd", "old"),
                         [](const auto& test) { return std::string(test.param); });

TEST(CaffeModel, NeedsItsWeightsUnlessItIsToBeTrained) {
  const testing::TemporaryDirectory folder;
  testing::write_bytes(folder / "net.prototxt", testing::read_bytes(kFolder + "old.prototxt"));
  EXPECT_THAT(error_text([&] { Model::load(folder / "net.prototxt"); }), HasSubstr("no file with its weights"));
  EXPECT_EQ(Model::load_caffe(folder / "net.prototxt", "").weight_names().size(), 4U);
  const Model model = Model::load_caffe(folder / "net.prototxt", kFolder + "old.caffemodel");
  EXPECT_THAT(error_text([&] {
                model.predict({Tensor::zeros(DType::kF32, {1, 3, 9, 9})});
              }),
              HasSubstr("net.prototxt"));
}

}  // namespace
}  // namespace thalweg

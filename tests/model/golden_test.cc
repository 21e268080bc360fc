// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Small models against the answers of ONNX Runtime (tests/golden/make_onnx.py).
#include <gtest/gtest.h>

#include "support/op_check.h"
#include "support/source_dir.h"
#include "thalweg/model.h"
#include "thalweg/safetensors.h"

namespace thalweg {
namespace {

class OnnxGolden : public ::testing::TestWithParam<const char*> {
 protected:
  static std::string path(const std::string& suffix) {
    return std::string(TW_SOURCE_DIR "/tests/golden/onnx/") + GetParam() + suffix;
  }
  static std::vector<Tensor> tensors(const SafetensorsFile& file, const std::string& prefix) {
    std::vector<Tensor> all;
    for (size_t i = 0; file.contains(prefix + std::to_string(i)); ++i) {
      all.push_back(file.load(prefix + std::to_string(i)));
    }
    return all;
  }
};

TEST_P(OnnxGolden, SameAnswersAsOnnxRuntime) {
  const Model model = Model::load(path(".onnx"));
  const SafetensorsFile file(path(".safetensors"));
  const std::vector<Tensor> inputs = tensors(file, "input_"), expected = tensors(file, "output_");
  for (int run = 0; run < 2; ++run) {
    const std::vector<Tensor> outputs = model.predict(inputs);
    ASSERT_EQ(outputs.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      testing::expect_close(outputs[i], expected[i], 2e-6, GetParam() + std::string(" output ") + std::to_string(i));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OnnxGolden,
                         ::testing::Values("convnet", "attention", "upscale", "recurrent", "loop", "quantized"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace thalweg

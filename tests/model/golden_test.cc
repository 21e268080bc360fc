// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Small models and operators against the answers of ONNX Runtime (tests/golden/make_onnx.py, make_operators.py).
#include <gtest/gtest.h>

#include "support/op_check.h"
#include "support/source_dir.h"
#include "thalweg/model.h"
#include "thalweg/safetensors.h"

namespace thalweg {
namespace {

struct Golden {
  const char* name;
  double tolerance = 2e-6;
};

class OnnxGolden : public ::testing::TestWithParam<Golden> {
 protected:
  static std::string path(const std::string& suffix) {
    return std::string(TW_SOURCE_DIR "/tests/golden/onnx/") + GetParam().name + suffix;
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
      testing::expect_close(outputs[i], expected[i], GetParam().tolerance,
                            GetParam().name + std::string(" output ") + model.outputs()[i].name);
    }
  }
}

// ONNX Runtime quantises what goes through the cell of an LSTM too.
INSTANTIATE_TEST_SUITE_P(All, OnnxGolden,
                         ::testing::Values(Golden{"convnet"}, Golden{"attention"}, Golden{"upscale"},
                                           Golden{"recurrent"}, Golden{"loop"}, Golden{"quantized"},
                                           Golden{"microsoft_quantized"}, Golden{"microsoft_lstm", 2e-3},
                                           Golden{"microsoft_fused"}, Golden{"microsoft_attention"}, Golden{"ml"},
                                           Golden{"microsoft_early"}, Golden{"signal", 5e-6}, Golden{"newest"}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace thalweg

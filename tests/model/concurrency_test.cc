// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Many threads call one loaded model. Under the thread sanitizer this is where scratch memory that calls share, or what
// is compiled without a lock, is caught.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <thread>

#include "formats/onnx/small_model.h"
#include "support/op_check.h"
#include "support/sanitized.h"
#include "support/source_dir.h"
#include "thalweg/model.h"
#include "thalweg/safetensors.h"

namespace thalweg::testing {
namespace {

InferenceOptions with_threads(int threads) {
  InferenceOptions options;
  options.threads = threads;
  options.tuning = Tuning::kFixed;  // the same kernels, hence the same bits, in every model
  return options;
}

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
    return x.type() == y.type() && std::memcmp(x.raw(), y.raw(), x.num_bytes()) == 0;
  });
}

/// How many of `streams` threads that call the model several times get another answer than `expected` for the inputs of
/// their number.
int wrong_streams(const Model& model, const std::vector<std::vector<Tensor>>& inputs,
                  const std::vector<std::vector<Tensor>>& expected, size_t streams, int rounds) {
  std::vector<int> wrong(streams, 0);
  std::vector<std::thread> threads;
  for (size_t stream = 0; stream < streams; ++stream) {
    threads.emplace_back([&, stream] {
      for (int round = 0; round < rounds; ++round) {
        const size_t which = (stream + static_cast<size_t>(round)) % inputs.size();
        if (!same_bits(model.predict(inputs[which]), expected[which])) wrong[stream] = 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return static_cast<int>(std::count(wrong.begin(), wrong.end(), 1));
}

class ConcurrentGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(ConcurrentGolden, StreamsGetTheAnswersOfOneAfterTheOther) {
  const std::string path = std::string(TW_SOURCE_DIR "/tests/golden/onnx/") + GetParam();
  const SafetensorsFile file(path + ".safetensors");
  // The golden inputs, and others of the same shapes: calls that mixed their memory up would mix the answers up.
  std::vector<std::vector<Tensor>> inputs(3);
  for (size_t i = 0; file.contains("input_" + std::to_string(i)); ++i) {
    const Tensor golden = file.load("input_" + std::to_string(i));
    for (size_t which = 0; which < inputs.size(); ++which) {
      const bool vary = which > 0 && golden.dtype() == DType::kF32;
      inputs[which].push_back(vary ? random_tensor(DType::kF32, golden.shape(), which) : golden);
    }
  }
  for (const int threads : {1, 2}) {
    const Model alone = Model::load(path + ".onnx", with_threads(threads));
    std::vector<std::vector<Tensor>> expected;
    for (const auto& one : inputs) expected.push_back(alone.predict(one));
    // Loaded anew, so that the streams compile while others wait for it.
    const Model shared = Model::load(path + ".onnx", with_threads(threads));
    EXPECT_EQ(wrong_streams(shared, inputs, expected, 4, 6), 0) << threads << " threads each";
  }
}

INSTANTIATE_TEST_SUITE_P(All, ConcurrentGolden,
                         ::testing::Values("convnet", "attention", "upscale", "recurrent", "loop", "quantized"),
                         [](const auto& test) { return std::string(test.param); });

/// y = x w, w f32 [width, width].
onnx::ModelProto wide_model(const std::vector<float>& weights, int64_t width) {
  onnx::ModelProto model = small_model();
  onnx::TensorProto& w = model.graph.initializer[0];
  w.name = "w";
  w.dims = {width, width};
  w.raw_data = {reinterpret_cast<const char*>(weights.data()), weights.size() * sizeof(float)};
  model.graph.input = {value_info("x", {-1, width})};
  model.graph.output = {value_info("y", {-1, width})};
  model.graph.node = {{"product", "MatMul", "", "", {"x", "w"}, {"y"}, {}}};
  return model;
}

int64_t resident_bytes() {
  int64_t all = 0;
  int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

TEST(Concurrency, StreamsShareTheWeights) {
  constexpr int64_t kWidth = 2048;
  constexpr int64_t kWeightBytes = kWidth * kWidth * static_cast<int64_t>(sizeof(float));
  constexpr size_t kStreams = 6;
  const Tensor weights = random_tensor(DType::kF32, {kWidth, kWidth}, 1);
  const std::vector<float> values(weights.data<float>(), weights.data<float>() + weights.num_elements());
  const Model model = Model::load_bytes(bytes_of(wide_model(values, kWidth)), with_threads(1));
  const std::vector<std::vector<Tensor>> inputs = {{random_tensor(DType::kF32, {2, kWidth}, 2)}};
  const std::vector<std::vector<Tensor>> expected = {model.predict(inputs[0])};
  const int64_t before = resident_bytes();
  EXPECT_EQ(wrong_streams(model, inputs, expected, kStreams, 5), 0);
  // Six copies would take 96 MB; a sanitizer's own memory grows with everything.
  if (!kSanitized) {
    EXPECT_LT(resident_bytes() - before, kWeightBytes) << "each stream seems to hold the weights";
  }
}

}  // namespace
}  // namespace thalweg::testing

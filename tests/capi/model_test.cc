// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/onnx/small_model.h"
#include "support/source_dir.h"
#include "support/temporary_directory.h"
#include "thalweg/c_api.h"

namespace thalweg {
namespace {

using testing::bytes_of;
using ::testing::HasSubstr;
using testing::small_model;

/// Frees what it holds.
struct Loaded {
  explicit Loaded(const std::string& bytes, const tw_options* options = nullptr) {
    status = tw_model_load_bytes(bytes.data(), bytes.size(), options, &model);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  ~Loaded() { tw_model_free(model); }
  tw_model* model = nullptr;
  tw_status status;
};

TEST(CApi, LoadsDescribesAndRuns) {
  const Loaded loaded(bytes_of(small_model()));
  ASSERT_EQ(loaded.status, TW_OK) << tw_last_error();
  ASSERT_EQ(tw_model_num_inputs(loaded.model), 1U);
  tw_value_info info;
  ASSERT_EQ(tw_model_input(loaded.model, 0, &info), TW_OK);
  EXPECT_STREQ(info.name, "x");
  EXPECT_EQ(info.dtype, TW_F32);
  ASSERT_EQ(info.rank, 2);
  EXPECT_EQ(info.dims[0], -1);
  EXPECT_EQ(info.dims[1], 2);
  EXPECT_STREQ(tw_model_metadata(loaded.model, "author"), "a test");
  EXPECT_EQ(tw_model_metadata(loaded.model, "nothing"), nullptr);

  float values[4] = {1, 5, -3, 7};
  const int64_t dims[2] = {2, 2};
  const tw_tensor input{TW_F32, 2, dims, values};
  tw_result* result = nullptr;
  ASSERT_EQ(tw_model_run(loaded.model, &input, 1, &result), TW_OK) << tw_last_error();
  tw_tensor output;
  ASSERT_EQ(tw_result_num_tensors(result), 1U);
  ASSERT_EQ(tw_result_tensor(result, 0, &output), TW_OK);
  EXPECT_EQ(output.dtype, TW_F32);
  EXPECT_EQ(output.dims[0], 2);
  EXPECT_EQ(static_cast<const float*>(output.data)[1], 3.0F);
  EXPECT_EQ(static_cast<const float*>(output.data)[2], 0.0F);
  EXPECT_EQ(tw_result_tensor(result, 1, &output), TW_ERROR);
  tw_result_free(result);

  ASSERT_EQ(tw_model_explain(loaded.model, &input, 1, &result), TW_OK) << tw_last_error();
  EXPECT_THAT(tw_result_text(result), HasSubstr("ms"));
  tw_result_free(result);
}

TEST(CApi, FailuresAreTexts) {
  const Loaded garbage("no model");
  EXPECT_EQ(garbage.status, TW_ERROR);
  EXPECT_EQ(garbage.model, nullptr);
  EXPECT_THAT(tw_last_error(), HasSubstr("model in memory"));

  tw_model* model = nullptr;
  EXPECT_EQ(tw_model_load("/nowhere/none.onnx", nullptr, &model), TW_ERROR);
  EXPECT_THAT(tw_last_error(), HasSubstr("none.onnx"));
  EXPECT_EQ(tw_model_load(nullptr, nullptr, &model), TW_ERROR);

  const Loaded loaded(bytes_of(small_model()));
  tw_result* result = nullptr;
  const int64_t dims[2] = {1, -2};
  float value = 0;
  const tw_tensor negative{TW_F32, 2, dims, &value};
  EXPECT_EQ(tw_model_run(loaded.model, &negative, 1, &result), TW_ERROR);
  EXPECT_THAT(tw_last_error(), HasSubstr("negative"));
  const tw_tensor unknown{99, 0, nullptr, &value};
  EXPECT_EQ(tw_model_run(loaded.model, &unknown, 1, &result), TW_ERROR);
  EXPECT_THAT(tw_last_error(), HasSubstr("element type 99"));
  EXPECT_EQ(tw_model_run(loaded.model, nullptr, 1, &result), TW_ERROR);
  EXPECT_EQ(result, nullptr);
  tw_value_info info;
  EXPECT_EQ(tw_model_input(loaded.model, 7, &info), TW_ERROR);
}

TEST(CApi, OptionsAreChecked) {
  tw_options options{};
  options.threads = -1;
  EXPECT_EQ(Loaded(bytes_of(small_model()), &options).status, TW_ERROR);
  options.threads = 1;
  options.precision = 77;
  EXPECT_EQ(Loaded(bytes_of(small_model()), &options).status, TW_ERROR);
  options.precision = TW_PRECISION_BF16;
  EXPECT_EQ(Loaded(bytes_of(small_model()), &options).status, TW_OK);
}

/// What a run of one of the fuzzers' seeds, all of which take x f32 [N, 3], fails with.
std::string seed_error(const char* seed, const tw_options& options) {
  const Loaded loaded(testing::read_bytes(std::string(TW_SOURCE_DIR "/tests/fuzz/corpus/onnx/") + seed), &options);
  if (loaded.status != TW_OK) return tw_last_error();
  float values[3] = {1, 2, 3};
  const int64_t dims[2] = {1, 3};
  const tw_tensor input{TW_F32, 2, dims, values};
  tw_result* result = nullptr;
  if (tw_model_run(loaded.model, &input, 1, &result) != TW_OK) return tw_last_error();
  tw_result_free(result);
  return "";
}

TEST(CApi, LimitsHold) {
  tw_options options{};
  options.max_memory = uint64_t{1} << 20;
  EXPECT_THAT(seed_error("huge_constant", options), HasSubstr("more than the limit"));
  EXPECT_EQ(seed_error("loop", options), "");
  options = {};
  options.max_seconds = 0.05;
  EXPECT_THAT(seed_error("endless_loop", options), HasSubstr("longer than the time"));
  options.max_seconds = -1;
  EXPECT_THAT(seed_error("loop", options), HasSubstr("negative"));
}

TEST(CApi, Optimizes) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder / "small.onnx", output = folder / "fast.onnx";
  testing::write_bytes(path, bytes_of(small_model()));
  float values[4] = {1, 2, 3, 4};
  const int64_t dims[2] = {2, 2};
  const tw_tensor batch{TW_F32, 2, dims, values};
  tw_optimize_options options{};
  options.forms = "f32,f16";
  options.data = &batch;
  options.num_batches = options.num_inputs = 1;
  options.seconds = 1e-3;
  tw_result* result = nullptr;
  ASSERT_EQ(tw_optimize(path.c_str(), output.c_str(), &options, &result), TW_OK) << tw_last_error();
  EXPECT_THAT(tw_result_text(result), HasSubstr("\"chosen\""));
  tw_result_free(result);
  tw_model* model = nullptr;
  EXPECT_EQ(tw_model_load(output.c_str(), nullptr, &model), TW_OK) << tw_last_error();
  tw_model_free(model);
  options.forms = "int7";
  EXPECT_EQ(tw_optimize(path.c_str(), nullptr, &options, &result), TW_ERROR);
  EXPECT_THAT(tw_last_error(), HasSubstr("int7"));
}

TEST(CApi, DescribesTheSystem) {
  tw_result* result = nullptr;
  ASSERT_EQ(tw_system(&result), TW_OK) << tw_last_error();
  EXPECT_THAT(tw_result_text(result), HasSubstr(std::string("\"version\":\"") + tw_version()));
  EXPECT_THAT(tw_result_text(result), HasSubstr("\"processors\":"));
  tw_result_free(result);
}

}  // namespace
}  // namespace thalweg

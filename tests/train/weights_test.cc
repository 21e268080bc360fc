// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_directory.h"
#include "thalweg/safetensors.h"
#include "train/small_models.h"

namespace thalweg::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string load_error(Model& model, const std::string& path, bool strict = true) {
  try {
    model.load_weights(path, strict);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Weights, SurviveAFile) {
  const TemporaryDirectory folder;
  Model model(affine_graph(3, true)), other(affine_graph(3, true));
  model.set_weight("layer.weight", Tensor::from<float>({3}, {7, 8, 9}));
  model.set_weight("layer.seen", Tensor::from<float>({3}, {1, 2, 3}));
  model.save_weights(folder / "w.safetensors");
  other.load_weights(folder / "w.safetensors");
  for (const std::string& name : model.weight_names())
    EXPECT_EQ(floats(other.weight(name)), floats(model.weight(name)));
}

TEST(Weights, KeepTheirBitsThroughABlockedLayout) {
  const TemporaryDirectory folder;
  Model model(conv_graph()), other(conv_graph());
  const Tensor x = random_tensor(DType::kF32, {2, 3, 8, 8}, 31);
  const auto expected = floats(model.predict({x})[0]);
  model.save_weights(folder / "w.safetensors");
  for (const std::string& name : other.weight_names()) {
    other.set_weight(name, Tensor::zeros(DType::kF32, other.weight(name).shape()));
  }
  other.predict({x});
  other.load_weights(folder / "w.safetensors");
  EXPECT_EQ(floats(other.predict({x})[0]), expected);
}

TEST(Weights, OneErrorListsEverythingAndNothingChanges) {
  const TemporaryDirectory folder;
  save_safetensors(folder / "w", {{"layer.weight", Tensor::zeros(DType::kF32, {3})},
                                  {"layer.bias", Tensor::zeros(DType::kF32, {4})},
                                  {"strange", Tensor::zeros(DType::kF32, {1})}});
  Model model(affine_graph(3, true));
  const auto before = floats(model.weight("layer.weight"));
  EXPECT_THAT(load_error(model, folder / "w"),
              AllOf(HasSubstr(folder / "w"), HasSubstr("missing 'layer.seen'"), HasSubstr("unexpected 'strange'"),
                    HasSubstr("mismatch 'layer.bias'"), HasSubstr("1 missing, 1 unexpected, 1 of another type")));
  EXPECT_EQ(floats(model.weight("layer.weight")), before);
  EXPECT_THAT(load_error(model, folder / "w", false), HasSubstr("mismatch 'layer.bias'"));
  EXPECT_EQ(floats(model.weight("layer.weight")), before);
}

TEST(Weights, WhatBatchNormalisationCountsInPyTorchIsPassedOver) {
  const TemporaryDirectory folder;
  save_safetensors(folder / "w", {{"layer.weight", Tensor::full<float>({3}, 2.0F)},
                                  {"layer.bias", Tensor::zeros(DType::kF32, {3})},
                                  {"norm.num_batches_tracked", Tensor::scalar<int64_t>(7)}});
  Model model(affine_graph(3));
  EXPECT_EQ(load_error(model, folder / "w"), "");
  EXPECT_EQ(floats(model.weight("layer.weight")), (std::vector<float>{2, 2, 2}));
}

TEST(Weights, WhatBatchNormalisationCountsMayBeLacking) {
  auto graph = affine_graph(3);
  graph->state("norm.num_batches_tracked", Tensor::scalar<int64_t>(7));
  Model model(std::move(graph));
  model.set_weights(
      {{"layer.weight", Tensor::full<float>({3}, 2.0F)}, {"layer.bias", Tensor::zeros(DType::kF32, {3})}});
  EXPECT_EQ(floats(model.weight("layer.weight")), (std::vector<float>{2, 2, 2}));
  EXPECT_EQ(model.weight("norm.num_batches_tracked").data<int64_t>()[0], 7);
}

TEST(Weights, NotStrictTakesWhatFits) {
  const TemporaryDirectory folder;
  save_safetensors(folder / "w", {{"layer.weight", Tensor::full<float>({3}, 2.0F).to(DType::kBF16)},
                                  {"strange", Tensor::zeros(DType::kF32, {1})}});
  Model model(affine_graph(3, true));
  const auto bias = floats(model.weight("layer.bias"));
  EXPECT_EQ(load_error(model, folder / "w", false), "");
  EXPECT_EQ(floats(model.weight("layer.weight")), (std::vector<float>{2, 2, 2}));
  EXPECT_EQ(floats(model.weight("layer.bias")), bias);
  save_safetensors(folder / "none", {{"strange", Tensor::zeros(DType::kF32, {1})}});
  EXPECT_THAT(load_error(model, folder / "none", false), HasSubstr("holds none"));
}

TEST(Weights, NamesABrokenFile) {
  const TemporaryDirectory folder;
  Model model(affine_graph(3));
  EXPECT_THAT(load_error(model, folder / "absent"), HasSubstr(folder / "absent"));
  model.save_weights(folder / "w");
  const std::string whole = read_bytes(folder / "w");
  write_bytes(folder / "w", whole.substr(0, whole.size() - 5));
  EXPECT_THAT(load_error(model, folder / "w"), HasSubstr(folder / "w"));
}

TEST(Weights, AFullDiskLeavesTheOldFile) {
  Model model(affine_graph(3));
  EXPECT_THROW(model.save_weights("/dev/full/w"), Error);
  EXPECT_THROW(model.save_weights("/proc/no-such-folder/w"), Error);
}

}  // namespace
}  // namespace thalweg::testing

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/safetensors.h"
#include "train/small_models.h"
#include "train/temporary_folder.h"

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
  const TemporaryFolder folder;
  Model model(affine_graph(3, true)), other(affine_graph(3, true));
  model.set_weight("layer.weight", Tensor::from<float>({3}, {7, 8, 9}));
  model.set_weight("layer.seen", Tensor::from<float>({3}, {1, 2, 3}));
  model.save_weights(folder.file("w.safetensors"));
  other.load_weights(folder.file("w.safetensors"));
  for (const std::string& name : model.weight_names())
    EXPECT_EQ(floats(other.weight(name)), floats(model.weight(name)));
}

TEST(Weights, KeepTheirBitsThroughABlockedLayout) {
  const TemporaryFolder folder;
  Model model(conv_graph()), other(conv_graph());
  const Tensor x = random_tensor(DType::kF32, {2, 3, 8, 8}, 31);
  const auto expected = floats(model.predict({x})[0]);
  model.save_weights(folder.file("w.safetensors"));
  for (const std::string& name : other.weight_names()) {
    other.set_weight(name, Tensor::zeros(DType::kF32, other.weight(name).shape()));
  }
  other.predict({x});
  other.load_weights(folder.file("w.safetensors"));
  EXPECT_EQ(floats(other.predict({x})[0]), expected);
}

TEST(Weights, OneErrorListsEverythingAndNothingChanges) {
  const TemporaryFolder folder;
  save_safetensors(folder.file("w"), {{"layer.weight", Tensor::zeros(DType::kF32, {3})},
                                      {"layer.bias", Tensor::zeros(DType::kF32, {4})},
                                      {"strange", Tensor::zeros(DType::kF32, {1})}});
  Model model(affine_graph(3, true));
  const auto before = floats(model.weight("layer.weight"));
  EXPECT_THAT(load_error(model, folder.file("w")),
              AllOf(HasSubstr(folder.file("w")), HasSubstr("missing 'layer.seen'"), HasSubstr("unexpected 'strange'"),
                    HasSubstr("mismatch 'layer.bias'"), HasSubstr("1 missing, 1 unexpected, 1 of another type")));
  EXPECT_EQ(floats(model.weight("layer.weight")), before);
  EXPECT_THAT(load_error(model, folder.file("w"), false), HasSubstr("mismatch 'layer.bias'"));
  EXPECT_EQ(floats(model.weight("layer.weight")), before);
}

TEST(Weights, NotStrictTakesWhatFits) {
  const TemporaryFolder folder;
  save_safetensors(folder.file("w"), {{"layer.weight", Tensor::full<float>({3}, 2.0F).to(DType::kBF16)},
                                      {"strange", Tensor::zeros(DType::kF32, {1})}});
  Model model(affine_graph(3, true));
  const auto bias = floats(model.weight("layer.bias"));
  EXPECT_EQ(load_error(model, folder.file("w"), false), "");
  EXPECT_EQ(floats(model.weight("layer.weight")), (std::vector<float>{2, 2, 2}));
  EXPECT_EQ(floats(model.weight("layer.bias")), bias);
  save_safetensors(folder.file("none"), {{"strange", Tensor::zeros(DType::kF32, {1})}});
  EXPECT_THAT(load_error(model, folder.file("none"), false), HasSubstr("holds none"));
}

TEST(Weights, NamesABrokenFile) {
  const TemporaryFolder folder;
  Model model(affine_graph(3));
  EXPECT_THAT(load_error(model, folder.file("absent")), HasSubstr(folder.file("absent")));
  model.save_weights(folder.file("w"));
  const std::string whole = bytes_of(folder.file("w"));
  write_bytes(folder.file("w"), whole.substr(0, whole.size() - 5));
  EXPECT_THAT(load_error(model, folder.file("w")), HasSubstr(folder.file("w")));
}

TEST(Weights, AFullDiskLeavesTheOldFile) {
  Model model(affine_graph(3));
  EXPECT_THROW(model.save_weights("/dev/full/w"), Error);
  EXPECT_THROW(model.save_weights("/proc/no-such-folder/w"), Error);
}

}  // namespace
}  // namespace thalweg::testing

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/data/transforms.h"

namespace thalweg::data {
namespace {

std::string for_prediction(std::vector<Transform> transforms) {
  return Pipeline(std::move(transforms)).for_prediction().to_json();
}
std::string json_of(std::vector<Transform> transforms) { return Pipeline(std::move(transforms)).to_json(); }

TEST(ForPrediction, RandomCropsAreTakenFromTheMiddle) {
  EXPECT_EQ(for_prediction({RandomResizedCrop{224, 224, {0.08, 1.0}, {0.75, 1.33}, Interpolation::kBicubic}}),
            json_of({ResizeShorter{256, 0, Interpolation::kBicubic}, CenterCrop{224, 224}}));
  EXPECT_EQ(for_prediction({RandomResizedCrop{.height = 28, .width = 56, .area = {1.0, 1.0}}}),
            json_of({ResizeShorter{56}, CenterCrop{28, 56}}))
      << "training sees the whole image, and so does prediction";
  EXPECT_EQ(for_prediction({RandomCrop{.height = 32, .width = 30, .padding = 4}}), json_of({CenterCrop{32, 30}}));
}

TEST(ForPrediction, ChanceIsLeftOutAndTheRestStays) {
  EXPECT_EQ(for_prediction({Expand{}, RandomBoxCrop{}, Resize{10, 12}, HorizontalFlip{}, ColorJitter{0.4}, Lighting{},
                            VerticalFlip{1.0}, HorizontalFlip{0.0}}),
            json_of({Resize{10, 12}, VerticalFlip{1.0}}));
  const Pipeline fixed({ResizeShorter{64, 100}, CenterCrop{56, 48}}, {{0.5}, {0.25}, ImageLayout::kNhwc});
  EXPECT_EQ(fixed.for_prediction().to_json(), fixed.to_json());
}

TEST(ForPrediction, SizesStayAndEveryEpochIsTheSame) {
  const Pipeline random({Expand{}, RandomResizedCrop{20, 24}, HorizontalFlip{}, ColorJitter{0.4, 0.4, 0.4, 0.1},
                         RandomCrop{.height = 16, .width = 18, .padding = 2}});
  const Pipeline pipeline = random.for_prediction();
  EXPECT_EQ(pipeline.output_type(3), random.output_type(3));
  Tensor pixels(DType::kU8, {40, 30, 3});
  for (int64_t i = 0; i < pixels.num_elements(); ++i) pixels.data<uint8_t>()[i] = static_cast<uint8_t>(i * 7);
  const auto run = [&](const Draw& draw) {
    ImageSample sample(pixels.clone());
    std::vector<float> row(static_cast<size_t>(pipeline.output_type(3).shape.num_elements()));
    pipeline.run(sample, draw, 5, row.data());
    return row;
  };
  EXPECT_EQ(run({1, 0}), run({2, 7}));
}

}  // namespace
}  // namespace thalweg::data

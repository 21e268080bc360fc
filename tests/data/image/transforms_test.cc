// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/transforms.h"

#include <gtest/gtest.h>

#include <set>

#include "support/error_text.h"
#include "support/golden_image.h"
#include "support/temporary_directory.h"

namespace thalweg::data {
namespace {

using testing::error_text;
using testing::expect_pixels_near;
using testing::golden_image;

/// Pixel (y, x) has the colour (x, y, 7).
Tensor coordinates(int64_t height, int64_t width) {
  Tensor image(DType::kU8, {height, width, 3});
  uint8_t* out = image.data<uint8_t>();
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      *out++ = static_cast<uint8_t>(x);
      *out++ = static_cast<uint8_t>(y);
      *out++ = 7;
    }
  }
  return image;
}

Tensor transformed(const std::vector<Transform>& transforms, const Tensor& image, int64_t index = 0, Draw draw = {}) {
  ImageSample sample(image);
  Pipeline(transforms).transform(sample, draw, index);
  return sample.pixels();
}

const std::vector<Transform> kEverything = {
    Expand{.max_ratio = 2.0},
    RandomBoxCrop{},
    ResizeShorter{.shorter = 40, .max_longer = 50},
    RandomCrop{.height = 36, .width = 40, .padding = 4},
    ColorJitter{.brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1},
    Lighting{},
    VerticalFlip{},
    HorizontalFlip{},
    Resize{.height = 30, .width = 32, .interpolation = Interpolation::kBicubic},
    CenterCrop{.height = 28, .width = 28},
    RandomResizedCrop{.height = 24, .width = 20, .interpolation = Interpolation::kArea}};

TEST(Transforms, CropsTakeThePixelsTheySay) {
  const Tensor centre = transformed({CenterCrop{.height = 4, .width = 6}}, coordinates(10, 20));
  EXPECT_EQ(centre.data<uint8_t>()[0], 7);
  EXPECT_EQ(centre.data<uint8_t>()[1], 3);
  const Tensor padded = transformed({CenterCrop{.height = 4, .width = 6}}, coordinates(2, 2));
  EXPECT_EQ(padded.data<uint8_t>()[2], 0) << "black around a smaller image";
  EXPECT_EQ(padded.data<uint8_t>()[(1 * 6 + 2) * 3 + 2], 7);
  std::set<int> lefts;
  for (int64_t i = 0; i < 200; ++i) {
    const Tensor part = transformed({RandomCrop{.height = 8, .width = 5}}, coordinates(10, 8), i);
    const int left = part.data<uint8_t>()[0];
    lefts.insert(left);
    EXPECT_EQ(part.data<uint8_t>()[3 * 4], left + 4);
  }
  EXPECT_EQ(lefts, (std::set<int>{0, 1, 2, 3}));
}

TEST(Transforms, FlipsMirror) {
  const Tensor image = coordinates(3, 5);
  const Tensor across = transformed({HorizontalFlip{.probability = 1}}, image);
  EXPECT_EQ(across.data<uint8_t>()[0], 4);
  EXPECT_EQ(across.data<uint8_t>()[3 * 4], 0);
  const Tensor down = transformed({VerticalFlip{.probability = 1}}, image);
  EXPECT_EQ(down.data<uint8_t>()[1], 2);
  expect_pixels_near(transformed({HorizontalFlip{.probability = 0}, VerticalFlip{.probability = 0}}, image), image, 0,
                     0, "never");
}

TEST(Transforms, RandomOnesDependOnSeedEpochAndNumberOnly) {
  const Tensor image = golden_image("source");
  const Tensor first = transformed(kEverything, image, 3, {5, 1});
  expect_pixels_near(transformed(kEverything, image, 3, {5, 1}), first, 0, 0, "again");
  const auto same = [&](const Tensor& other) {
    return std::equal(first.data<uint8_t>(), first.data<uint8_t>() + first.num_elements(), other.data<uint8_t>());
  };
  EXPECT_FALSE(same(transformed(kEverything, image, 4, {5, 1})));
  EXPECT_FALSE(same(transformed(kEverything, image, 3, {6, 1})));
  EXPECT_FALSE(same(transformed(kEverything, image, 3, {5, 2})));
}

TEST(Transforms, RandomResizedCropCoversTheSharesItWasGiven) {
  double smallest = 1;
  double largest = 0;
  for (int64_t i = 0; i < 300; ++i) {
    const RandomResizedCrop t{.height = 2, .width = 2, .area = {0.1, 0.5}, .interpolation = Interpolation::kNearest};
    const Tensor part = transformed({t}, coordinates(200, 200), i);
    // Nearest of two halves: the two are half the side apart.
    const double width = 2.0 * (part.data<uint8_t>()[3] - part.data<uint8_t>()[0]);
    const double height = 2.0 * (part.data<uint8_t>()[7] - part.data<uint8_t>()[1]);
    smallest = std::min(smallest, width * height / 40000);
    largest = std::max(largest, width * height / 40000);
  }
  EXPECT_NEAR(smallest, 0.1, 0.03);
  EXPECT_NEAR(largest, 0.5, 0.03);
}

TEST(Transforms, AnEncodedJpegComesOutAsItsPixelsDo) {
  const std::string text = testing::read_bytes(testing::image_path("photo.jpg"));
  const std::vector<uint8_t> bytes(text.begin(), text.end());
  const Tensor pixels = decode_image(bytes, "photo.jpg");
  for (int64_t i = 0; i < 20; ++i) {
    // Larger than half of any part, so that the scale of the decoder stays 1.
    for (const Transform& t : {Transform(RandomResizedCrop{.height = 47, .width = 61}),
                               Transform(RandomCrop{.height = 20, .width = 70, .padding = 3})}) {
      ImageSample lazy(bytes, "photo.jpg");
      Pipeline({t}).transform(lazy, {}, i);
      expect_pixels_near(lazy.pixels(), transformed({t}, pixels, i), 0, 0, "part of a JPEG");
    }
  }
  ImageSample lazy(bytes, "photo.jpg");
  Pipeline({Resize{.height = 20, .width = 20}}).transform(lazy, {}, 0);
  expect_pixels_near(lazy.pixels(), transformed({Resize{.height = 20, .width = 20}}, pixels), 60, 3.0, "half scale");
}

TEST(Transforms, BoxesLabelsAndMasksMoveWithThePixels) {
  ImageSample sample(coordinates(20, 40));
  sample.boxes = {{10, 5, 20, 15}, {0, 0, 4, 4}};
  sample.labels = {8, 9};
  sample.masks = Tensor::zeros(DType::kU8, {2, 20, 40});
  for (int64_t y = 5; y < 15; ++y) std::fill_n(sample.masks.data<uint8_t>() + y * 40 + 10, 10, uint8_t{1});
  Pipeline({HorizontalFlip{.probability = 1}, CenterCrop{.height = 20, .width = 30}, Resize{.height = 40, .width = 30},
            VerticalFlip{.probability = 1}})
      .transform(sample, {}, 0);
  ASSERT_EQ(sample.boxes.size(), 1U) << "the other one was cut off";
  EXPECT_EQ(sample.boxes[0], (Box{15, 10, 25, 30}));
  EXPECT_EQ(sample.labels, (std::vector<int64_t>{8}));
  ASSERT_EQ(sample.masks.shape(), (Shape{1, 40, 30}));
  for (int64_t y = 0; y < 40; ++y) {
    for (int64_t x = 0; x < 30; ++x) {
      const bool inside = x >= 15 && x < 25 && y >= 10 && y < 30;
      ASSERT_EQ(sample.masks.data<uint8_t>()[y * 30 + x], inside ? 1 : 0) << x << ' ' << y;
    }
  }
}

TEST(Transforms, ExpandAndBoxCropKeepBoxesOnTheirPixels) {
  for (int64_t i = 0; i < 100; ++i) {
    ImageSample sample(coordinates(60, 80));
    sample.boxes = {{10, 10, 40, 50}, {50, 20, 60, 30}};
    Pipeline({Expand{.probability = 1}, RandomBoxCrop{.min_overlap = {0.3}}}).transform(sample, {}, i);
    ASSERT_GE(sample.boxes.size(), 1U);
    for (const Box& box : sample.boxes) {
      const auto x = static_cast<int64_t>(box.x1) - 1;
      const auto y = static_cast<int64_t>(box.y1) - 1;
      const uint8_t* pixel = sample.pixels().data<uint8_t>() + (y * sample.size().width + x) * 3;
      EXPECT_EQ(pixel[2], 7) << "the last pixel of a box is one of the image, not of the canvas";
    }
  }
}

TEST(Pipeline, NormalizesIntoEitherLayout) {
  const Tensor image = coordinates(5, 7);
  std::vector<float> planes(105), interleaved(105);
  const std::vector<double> mean = {0.1, 0.2, 0.3};
  const std::vector<double> deviation = {0.5, 0.25, 2.0};
  ImageSample sample(image);
  Pipeline({}, {mean, deviation, ImageLayout::kNchw}).run(sample, {}, 0, planes.data());
  Pipeline({}, {mean, deviation, ImageLayout::kNhwc}).run(sample, {}, 0, interleaved.data());
  for (size_t i = 0; i < 35; ++i) {
    for (size_t c = 0; c < 3; ++c) {
      const double expected = (image.data<uint8_t>()[3 * i + c] / 255.0 - mean[c]) / deviation[c];
      ASSERT_NEAR(planes[35 * c + i], expected, 1e-6);
      ASSERT_NEAR(interleaved[3 * i + c], expected, 1e-6);
    }
  }
  std::vector<uint8_t> raw(105);
  Pipeline({}, {.dtype = DType::kU8}).run(sample, {}, 0, raw.data());
  EXPECT_EQ(raw[6], 6);
  EXPECT_EQ(raw[35 + 7], 1);
}

TEST(Pipeline, KnowsTheTypeThatComesOut) {
  EXPECT_EQ(Pipeline(kEverything).output_type(3), (TensorType{DType::kF32, {3, 24, 20}}));
  EXPECT_EQ(
      Pipeline({Resize{.height = 5, .width = 6}}, {.layout = ImageLayout::kNhwc, .dtype = DType::kU8}).output_type(1),
      (TensorType{DType::kU8, {5, 6, 1}}));
  EXPECT_NE(error_text([] { Pipeline({ResizeShorter{}}).output_type(3); }).find("a batch needs one size"),
            std::string::npos);
  EXPECT_EQ(error_text([] { Pipeline({Resize{}}).output_type(1); }), "output: 3 deviations for 1 channels");
}

TEST(Pipeline, ComesBackFromJsonAsItWas) {
  const Pipeline pipeline(kEverything, {{0.5}, {0.25}, ImageLayout::kNhwc, DType::kF32});
  const std::string text = pipeline.to_json();
  const Pipeline back = Pipeline::from_json(text);
  EXPECT_EQ(back.to_json(), text);
  const Tensor image = golden_image("source");
  ImageSample a(image), b(image);
  pipeline.transform(a, {}, 17);
  back.transform(b, {}, 17);
  expect_pixels_near(b.pixels(), a.pixels(), 0, 0, "from JSON");
  EXPECT_EQ(Pipeline::from_json(R"({"transforms": [{"name": "resize", "height": 9}]})").output_type(3),
            (TensorType{DType::kF32, {3, 9, 224}}));
}

TEST(Pipeline, SaysWhatIsWrongWithJson) {
  const auto error = [](const char* text) { return error_text([&] { Pipeline::from_json(text); }); };
  EXPECT_EQ(error(R"({"transforms": [{"name": "resiz"}]})").rfind("image pipeline: there is no transform 'resiz'", 0),
            0U);
  EXPECT_EQ(error(R"({"transforms": [{"name": "resize", "heigth": 3}]})"),
            "image pipeline: resize: unknown key 'heigth'; near: height, width, name");
  EXPECT_EQ(error(R"({"transforms": [{"name": "resize", "interpolation": "cubical"}]})"),
            "image pipeline: resize: interpolation cannot be \"cubical\"");
  EXPECT_EQ(error(R"({"transforms": [{"name": "resize", "height": -3}]})"),
            "image pipeline: resize: height and width must be lengths");
  EXPECT_NE(error("{"), "no error");
  EXPECT_NE(error(R"({"transforms": [{"name": "resize", "height": "x"}]})"), "no error");
}

// The ratio of the sides is kept: what is long and narrow would become huge.
TEST(Transforms, AFewPixelsDoNotBecomeBillions) {
  const Pipeline predict({ResizeShorter{.shorter = 256}, CenterCrop{}});
  const auto run = [&](const Pipeline& pipeline, int64_t height, int64_t width, const DecodeOptions& options) {
    return error_text([&] {
      ImageSample sample(Tensor::zeros(DType::kU8, {height, width, 3}), "some/file", options);
      pipeline.transform(sample, {}, 0);
    });
  };
  EXPECT_EQ(run(predict, 1, 65500, {}),
            "some/file: 65500 x 1 pixels would become 16768000 x 256; at most 100000000 are allowed "
            "(DecodeOptions::max_pixels), 1048576 on a side");
  EXPECT_NE(run(predict, 4000, 1, {}), "no error");
  EXPECT_EQ(run(predict, 1, 300, {}), "no error");
  EXPECT_NE(run(predict, 1, 300, {.max_pixels = 1000}), "no error") << "20 million pixels";
  EXPECT_EQ(run(predict, 20, 50, {.max_pixels = 1000}), "no error") << "what the pipeline wants is not that much";
  const Pipeline expanded({Expand{.max_ratio = 100, .probability = 1}, Resize{}});
  EXPECT_NE(run(expanded, 3000, 3000, {}), "no error");
}

TEST(Transforms, ErrorsNameTheImage) {
  const Pipeline flipped({HorizontalFlip{.probability = 1}});
  const std::string text = error_text([&] {
    ImageSample sample(Tensor::zeros(DType::kU8, {4, 4, 3}), "some/file");
    sample.masks = Tensor::zeros(DType::kU8, {1, 5, 5});  // of another size than the image
    flipped.transform(sample, {}, 0);
  });
  EXPECT_EQ(text.rfind("some/file: horizontal_flip: ", 0), 0U) << text;
}

}  // namespace
}  // namespace thalweg::data

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>

#include "data/image/codec.h"
#include "data/random.h"
#include "support/error_text.h"
#include "support/golden_image.h"
#include "support/temporary_directory.h"

namespace thalweg::data {
namespace {

using testing::error_text;
using testing::expect_pixels_near;
using testing::golden_image;
using testing::image_path;
using testing::read_bytes;

std::vector<uint8_t> bytes_of(const std::string& name) {
  const std::string text = read_bytes(image_path(name));
  return {text.begin(), text.end()};
}

struct Golden {
  const char* name;
  ImageFormat format;
  int worst;
};

// JPEG decoders may round differently: Pillow carries its own build of libjpeg-turbo. The inks of CMYK lose twice.
constexpr Golden kGoldens[] = {
    {"photo.jpg", ImageFormat::kJpeg, 1},
    {"photo_444.jpg", ImageFormat::kJpeg, 1},
    {"photo_progressive.jpg", ImageFormat::kJpeg, 1},
    {"photo_gray.jpg", ImageFormat::kJpeg, 1},
    {"photo_cmyk.jpg", ImageFormat::kJpeg, 2},
    {"photo.png", ImageFormat::kPng, 0},
    {"photo_alpha.png", ImageFormat::kPng, 0},
    {"photo_palette.png", ImageFormat::kPng, 0},
    {"photo_two.png", ImageFormat::kPng, 0},
    {"photo_gray.png", ImageFormat::kPng, 0},
    {"photo_16bit.png", ImageFormat::kPng, 0},
    {"photo.bmp", ImageFormat::kBmp, 0},
    {"photo_palette.bmp", ImageFormat::kBmp, 0},
    {"photo_alpha.bmp", ImageFormat::kBmp, 0},
    {"photo.gif", ImageFormat::kGif, 0},
};

TEST(DecodeImage, GivesThePixelsThatPillowGives) {
  for (const Golden& golden : kGoldens) {
    const ImageInfo info = inspect_image(bytes_of(golden.name), golden.name);
    EXPECT_EQ(info.format, golden.format) << golden.name;
    EXPECT_EQ(info.size, (ImageSize{47, 61})) << golden.name;
    expect_pixels_near(read_image(image_path(golden.name)), golden_image(golden.name), golden.worst, 0.5, golden.name);
  }
}

TEST(DecodeImage, GrayIsTheWeightedMeanOfTheChannels) {
  // A JPEG holds that mean. Pillow computes it from RGB, after colours that RGB cannot hold were cut.
  expect_pixels_near(read_image(image_path("photo.jpg"), {.color = ColorMode::kGray}), golden_image("photo.jpg.gray"),
                     30, 0.8, "JPEG");
  for (const Golden& golden : kGoldens) {
    const Tensor gray = read_image(image_path(golden.name), {.color = ColorMode::kGray});
    EXPECT_EQ(gray.shape(), (Shape{47, 61, 1})) << golden.name;
  }
}

TEST(DecodeImage, EveryCutIsAnErrorThatNamesTheFile) {
  for (const Golden& golden : kGoldens) {
    const std::vector<uint8_t> whole = bytes_of(golden.name);
    for (size_t length = 0; length < whole.size(); length += std::max<size_t>(1, whole.size() / 97)) {
      // What comes after the last pixel may be missing.
      if (length + 40 > whole.size()) break;
      const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length));
      const std::string text = error_text([&] { decode_image(cut, "some/file"); });
      // The second picture of the animation is never looked at.
      if (std::string(golden.name) == "photo.gif" && length > whole.size() / 2) continue;
      EXPECT_EQ(text.rfind("some/file: ", 0), 0U) << golden.name << " cut at " << length << ": " << text;
    }
  }
}

TEST(DecodeImage, DamagedBytesNeverDoMoreThanThrow) {
  Random random(4);
  for (const Golden& golden : kGoldens) {
    for (int i = 0; i < 60; ++i) {
      std::vector<uint8_t> bytes = bytes_of(golden.name);
      for (int k = 0; k < 1 + i % 5; ++k) bytes[random.below(bytes.size())] = static_cast<uint8_t>(random.next());
      try {
        decode_image(bytes, "damaged", {.max_pixels = 1'000'000});
      } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what()).rfind("damaged: ", 0), 0U) << error.what();
      }
    }
  }
}

TEST(DecodeImage, RefusesMorePixelsThanAllowed) {
  for (const Golden& golden : kGoldens) {
    const std::vector<uint8_t> bytes = bytes_of(golden.name);
    EXPECT_EQ(error_text([&] { decode_image(bytes, "bomb", {.max_pixels = 47 * 61 - 1}); }),
              "bomb: 61 x 47 pixels are more than the limit of 2866 (DecodeOptions::max_pixels)")
        << golden.name;
    EXPECT_EQ(error_text([&] { decode_image(bytes, "fits", {.max_pixels = 47 * 61}); }), "no error") << golden.name;
  }
}

TEST(DecodeImage, AClaimOfGigabytesIsRefusedBeforeMemoryIsAskedFor) {
  std::vector<uint8_t> png = bytes_of("photo.png");
  // Width and height of the header chunk; its checksum, made for the old ones, comes after.
  for (const size_t i : {16, 17, 20, 21}) png[i] = 0x00;
  png[16] = 0x7F;
  png[20] = 0x7F;
  EXPECT_NE(error_text([&] { decode_image(png, "bomb.png"); }), "no error");
  std::vector<uint8_t> bmp = bytes_of("photo.bmp");
  for (const size_t i : {18, 19, 22, 23}) bmp[i] = 0xFF;
  bmp[20] = bmp[24] = 0x7F;
  EXPECT_NE(error_text([&] { decode_image(bmp, "bomb.bmp"); }).find("more than the limit"), std::string::npos);
}

TEST(DecodeImage, WhatIsNoImageSaysSo) {
  const testing::TemporaryDirectory directory;
  testing::write_bytes(directory / "empty.jpg", "");
  testing::write_bytes(directory / "notes.png", "not an image at all");
  EXPECT_EQ(error_text([&] { read_image(directory / "empty.jpg"); }), directory / "empty.jpg" + ": the file is empty");
  EXPECT_EQ(error_text([&] { read_image(directory / "notes.png"); }),
            directory / "notes.png" + ": is no JPEG, PNG, GIF or BMP image");
  EXPECT_EQ(error_text([&] { read_image(directory / "absent"); }),
            directory / "absent" + ": cannot read: No such file or directory");
  EXPECT_EQ(error_text([&] { read_image(directory.path().string()); }), directory.path().string() + ": is not a file");
}

TEST(DecodeImage, AWrongExtensionIsFine) {
  const testing::TemporaryDirectory directory;
  std::filesystem::copy_file(image_path("photo.png"), directory / "photo.jpg");
  expect_pixels_near(read_image(directory / "photo.jpg"), golden_image("photo.png"), 0, 0, "PNG named .jpg");
}

TEST(DecodeJpegPart, PixelsOfAPartAreThoseOfTheWhole) {
  Random random(11);
  for (const char* name : {"photo.jpg", "photo_444.jpg", "photo_progressive.jpg", "photo_gray.jpg", "photo_cmyk.jpg"}) {
    const std::vector<uint8_t> bytes = bytes_of(name);
    const std::string label = name;
    const Tensor whole = decode_image(bytes, label);
    for (int i = 0; i < 40; ++i) {
      const auto width = static_cast<int64_t>(1 + random.below(61));
      const auto height = static_cast<int64_t>(1 + random.below(47));
      const auto left = static_cast<int64_t>(random.below(static_cast<uint64_t>(62 - width)));
      const auto top = static_cast<int64_t>(random.below(static_cast<uint64_t>(48 - height)));
      const Area area{static_cast<double>(left), static_cast<double>(top), static_cast<double>(width),
                      static_cast<double>(height)};
      const ImagePart part = decode_jpeg_part({bytes, label}, {}, area, {height, width});
      ASSERT_EQ(part.area.width, width);
      ASSERT_EQ(part.area.height, height);
      const auto dx = static_cast<int64_t>(part.area.x);
      const auto dy = static_cast<int64_t>(part.area.y);
      const int64_t stride = part.pixels.shape()[1] * 3;
      for (int64_t y = 0; y < height; ++y) {
        for (int64_t x = 0; x < 3 * width; ++x) {
          ASSERT_EQ(part.pixels.data<uint8_t>()[(y + dy) * stride + 3 * dx + x],
                    whole.data<uint8_t>()[((y + top) * 61 + left) * 3 + x])
              << name << " area " << left << ',' << top << ' ' << width << 'x' << height << " at " << x / 3 << ',' << y;
        }
      }
    }
  }
}

TEST(DecodeJpegPart, ScalesDownAsFarAsTheTargetAllows) {
  const std::vector<uint8_t> bytes = bytes_of("photo.jpg");
  const std::string name = "photo.jpg";
  const Area all{0, 0, 61, 47};
  EXPECT_EQ(decode_jpeg_part({bytes, name}, {}, all, {47, 61}).pixels.shape(), (Shape{47, 61, 3}));
  EXPECT_EQ(decode_jpeg_part({bytes, name}, {}, all, {24, 30}).pixels.shape(), (Shape{47, 61, 3}));
  const ImagePart half = decode_jpeg_part({bytes, name}, {}, all, {23, 30});
  EXPECT_EQ(half.pixels.shape(), (Shape{24, 31, 3}));
  EXPECT_EQ(half.area.width, 30.5);
  EXPECT_EQ(decode_jpeg_part({bytes, name}, {}, all, {5, 7}).pixels.shape(), (Shape{6, 8, 3}));
}

TEST(DecodeImage, AVeryLongSideIsRefusedBeforeMemoryIsAskedFor) {
  const std::string seeds = TW_SOURCE_DIR "/tests/fuzz/corpus/images/";
  EXPECT_EQ(error_text([&] { read_image(seeds + "endless.png"); }),
            seeds + "endless.png: 1 x 100000000 pixels; no side may be longer than 1048576");
  EXPECT_EQ(read_image(seeds + "highest.png").shape(), (Shape{1048576, 1, 3}));
}

// libjpeg only warns, and fills in grey.
TEST(DecodeImage, AJpegWhosePixelsDoNotMakeSenseIsRefused) {
  for (const char* name : {"photo.jpg", "photo_progressive.jpg", "photo_gray.jpg"}) {
    const std::vector<uint8_t> whole = bytes_of(name);
    int bad_codes = 0;
    for (size_t at = whole.size() / 2; at + 40 < whole.size(); at += 3) {
      std::vector<uint8_t> damaged = whole;
      // Ones only, which is no code of any length; a zero follows each byte of them, as in every file.
      for (size_t i = 0; i < 20; i += 2) damaged[at + i] = 0xFF, damaged[at + i + 1] = 0;
      const std::string text = error_text([&] { decode_image(damaged, "some/file"); });
      if (text == "some/file: bad JPEG: Corrupt JPEG data: bad Huffman code") ++bad_codes;
    }
    EXPECT_GT(bad_codes, 0) << name;
  }
}

TEST(DecodeImage, StrayBytesBetweenThePartsOfAJpegAreHarmless) {
  std::vector<uint8_t> bytes = bytes_of("photo.jpg");
  const int first_part = 4 + 256 * bytes[4] + bytes[5];
  bytes.insert(bytes.begin() + first_part, {0, 0, 0});
  bytes.insert(bytes.end(), {1, 2, 3});
  expect_pixels_near(decode_image(bytes, "some/file"), golden_image("photo.jpg"), 1, 0.5, "photo.jpg");
}

}  // namespace
}  // namespace thalweg::data

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/golden_image.h"
#include "support/temporary_directory.h"

namespace thalweg::testing {

inline constexpr int kOddButGoodImages = 4;
inline constexpr int kBadImages = 4;

/// Fills a folder with images of every unusual kind that can be read, whose names begin with "good", and with files
/// that cannot, whose names begin with "bad".
inline void write_odd_images(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const auto copy = [&](const char* image, const char* name) {
    std::filesystem::copy_file(image_path(image), folder / name);
  };
  copy("photo.png", "good_mislabelled.jpg");
  copy("photo_cmyk.jpg", "good_cmyk.jpg");
  copy("photo_16bit.png", "good_16bit.png");
  copy("photo.gif", "good_animated.gif");
  const std::string jpeg = read_bytes(image_path("photo.jpg"));
  write_bytes(folder / "bad_truncated.jpg", jpeg.substr(0, jpeg.size() / 2));
  write_bytes(folder / "bad_empty.png", "");
  write_bytes(folder / "bad_text.png", "not an image at all");
  std::string bomb = read_bytes(image_path("photo.bmp"));
  for (const size_t i : {18, 19, 22, 23}) bomb[i] = '\xFF';  // width and height: 8 million pixels each
  bomb[20] = bomb[24] = '\x7F';
  write_bytes(folder / "bad_bomb.bmp", bomb);
}

}  // namespace thalweg::testing

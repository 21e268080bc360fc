// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "thalweg/tensor.h"

namespace thalweg::data {

/// In pixels.
struct ImageSize {
  int64_t height = 0;
  int64_t width = 0;
  bool operator==(const ImageSize&) const = default;
};

enum class ImageFormat { kJpeg, kPng, kGif, kBmp };
const char* name_of(ImageFormat format);

enum class ColorMode {
  kRgb,  ///< 3 channels; grey images are repeated, alpha is left out
  kGray  ///< 1 channel: 0.299 red + 0.587 green + 0.114 blue
};

/// Images with a longer side are refused: what is needed for each row or column of an image, however narrow, must not
/// become much.
inline constexpr int64_t kMostPixelsAside = 1 << 20;

struct DecodeOptions {
  ColorMode color = ColorMode::kRgb;
  /// Images of more pixels are refused before memory is asked for: a file of some kilobytes can claim gigabytes. So is
  /// what transforms would make of one, if it has more than 4 million pixels.
  int64_t max_pixels = 100'000'000;
};

/// What an image file says of itself.
struct ImageInfo {
  ImageFormat format = ImageFormat::kJpeg;
  ImageSize size;
};

/// Images are u8 tensors [height, width, channels]. The format is known by the first bytes, whatever the file is
/// called; CMYK, 16-bit and palette images are converted, and of an animation the first picture is taken. `name` is
/// used in errors. Throws Error if the bytes are cut short or are no image, or an image larger than allowed.
Tensor decode_image(std::span<const uint8_t> bytes, const std::string& name, const DecodeOptions& options = {});
/// Reads the header only.
ImageInfo inspect_image(std::span<const uint8_t> bytes, const std::string& name, const DecodeOptions& options = {});
Tensor read_image(const std::string& path, const DecodeOptions& options = {});

}  // namespace thalweg::data

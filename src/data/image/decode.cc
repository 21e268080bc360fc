// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "data/file_bytes.h"
#include "data/image/codec.h"

namespace thalweg::data {

const char* name_of(ImageFormat format) {
  switch (format) {
    case ImageFormat::kJpeg: return "JPEG";
    case ImageFormat::kPng: return "PNG";
    case ImageFormat::kGif: return "GIF";
    case ImageFormat::kBmp: return "BMP";
  }
  return "unknown";
}

void check_size(const std::string& name, ImageSize size, const DecodeOptions& options) {
  TW_REQUIRE(size.height > 0 && size.width > 0, name, ": an image of ", size.width, " x ", size.height, " pixels");
  TW_REQUIRE(size.height <= options.max_pixels / size.width, name, ": ", size.width, " x ", size.height,
             " pixels are more than the limit of ", options.max_pixels, " (DecodeOptions::max_pixels)");
  TW_REQUIRE(size.height <= kMostPixelsAside && size.width <= kMostPixelsAside, name, ": ", size.width, " x ",
             size.height, " pixels; no side may be longer than ", kMostPixelsAside);
}

int64_t channels_of(ColorMode color) { return color == ColorMode::kRgb ? 3 : 1; }

Tensor new_image(ImageSize size, int64_t channels) {
  return Tensor(DType::kU8, Shape{size.height, size.width, channels});
}

void store_rgb_row(const Tensor& image, int64_t y, const uint8_t* rgb) {
  const int64_t width = image.shape()[1];
  const int64_t channels = image.shape()[2];
  uint8_t* out = image.data<uint8_t>() + y * width * channels;
  if (channels == 3) {
    std::copy_n(rgb, 3 * width, out);
    return;
  }
  // 0.299, 0.587 and 0.114 in units of 1/65536.
  for (int64_t x = 0; x < width; ++x) {
    out[x] = static_cast<uint8_t>((rgb[3 * x] * 19595 + rgb[3 * x + 1] * 38470 + rgb[3 * x + 2] * 7471 + 32768) >> 16);
  }
}

namespace {

Tensor decode_jpeg(const Encoded& file, const DecodeOptions& options) {
  const ImageSize size = jpeg_size(file, options);
  const Area all{0, 0, static_cast<double>(size.width), static_cast<double>(size.height)};
  return decode_jpeg_part(file, options, all, size).pixels;
}

struct Codec {
  ImageFormat format;
  std::string_view first_bytes;
  ImageSize (*size)(const Encoded&, const DecodeOptions&);
  Tensor (*decode)(const Encoded&, const DecodeOptions&);
};
constexpr std::array<Codec, 4> kCodecs = {{
    {ImageFormat::kJpeg, "\xFF\xD8\xFF", jpeg_size, decode_jpeg},
    {ImageFormat::kPng, "\x89PNG\r\n\x1A\n", png_size, decode_png},
    {ImageFormat::kGif, "GIF8", gif_size, decode_gif},
    {ImageFormat::kBmp, "BM", bmp_size, decode_bmp},
}};

const Codec& codec_of(const Encoded& file) {
  TW_REQUIRE(!file.bytes.empty(), file.name, ": the file is empty");
  for (const Codec& codec : kCodecs) {
    const auto matches = [](char expected, uint8_t byte) { return static_cast<uint8_t>(expected) == byte; };
    if (file.bytes.size() >= codec.first_bytes.size() &&
        std::equal(codec.first_bytes.begin(), codec.first_bytes.end(), file.bytes.begin(), matches)) {
      return codec;
    }
  }
  raise(file.name, ": is no JPEG, PNG, GIF or BMP image");
}

}  // namespace

Tensor decode_image(std::span<const uint8_t> bytes, const std::string& name, const DecodeOptions& options) {
  const Encoded file{bytes, name};
  return codec_of(file).decode(file, options);
}

ImageInfo inspect_image(std::span<const uint8_t> bytes, const std::string& name, const DecodeOptions& options) {
  const Encoded file{bytes, name};
  const Codec& codec = codec_of(file);
  return {codec.format, codec.size(file, options)};
}

Tensor read_image(const std::string& path, const DecodeOptions& options) {
  std::vector<uint8_t> bytes;
  read_file(path, bytes);
  return decode_image(bytes, path, options);
}

}  // namespace thalweg::data

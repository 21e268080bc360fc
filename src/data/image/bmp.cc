// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Windows bitmaps without compression: 1, 4 and 8 bits with a palette, 16, 24 and 32 bits with or without masks.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "data/image/codec.h"

namespace thalweg::data {
namespace {

constexpr size_t kFileHeaderBytes = 14;
constexpr uint32_t kUncompressed = 0, kBitFields = 3, kAlphaBitFields = 6;

struct Header {
  size_t pixel_offset = 0;
  size_t info_bytes = 0;
  ImageSize size;
  bool top_down = false;
  int bits = 0;
  uint32_t compression = kUncompressed;
  uint32_t colors_used = 0;
};

template <typename T>
T little_endian(const Encoded& file, size_t offset) {
  static_assert(std::endian::native == std::endian::little);
  TW_REQUIRE(offset + sizeof(T) <= file.bytes.size(), file.name, ": bad BMP: cut short");
  T value;
  std::memcpy(&value, file.bytes.data() + offset, sizeof(T));
  return value;
}

Header read_header(const Encoded& file, const DecodeOptions& options) {
  Header header;
  header.pixel_offset = little_endian<uint32_t>(file, 10);
  header.info_bytes = little_endian<uint32_t>(file, kFileHeaderBytes);
  TW_REQUIRE(header.info_bytes >= 40 && header.info_bytes <= 4096, file.name, ": bad BMP: a header of ",
             header.info_bytes, " bytes is of no known version");
  const auto width = little_endian<int32_t>(file, 18);
  const auto height = little_endian<int32_t>(file, 22);
  header.top_down = height < 0;
  header.size = {std::abs(static_cast<int64_t>(height)), width};
  header.bits = little_endian<uint16_t>(file, 28);
  header.compression = little_endian<uint32_t>(file, 30);
  header.colors_used = little_endian<uint32_t>(file, 46);
  check_size(file.name, header.size, options);
  return header;
}

/// One channel of a 16- or 32-bit pixel.
struct Mask {
  uint32_t bits = 0;
  uint8_t value(uint32_t pixel) const {
    if (bits == 0) return 0;
    const int shift = std::countr_zero(bits);
    const uint64_t largest = bits >> static_cast<unsigned>(shift);
    return static_cast<uint8_t>((((pixel & bits) >> static_cast<unsigned>(shift)) * uint64_t{255} + largest / 2) /
                                largest);
  }
};

class BmpFile {
 public:
  BmpFile(const Encoded& file, const DecodeOptions& options)
      : file_(file), options_(options), header_(read_header(file, options)) {
    const bool masked = header_.compression == kBitFields || header_.compression == kAlphaBitFields;
    TW_REQUIRE(header_.compression == kUncompressed || (masked && (header_.bits == 16 || header_.bits == 32)),
               file_.name, ": BMP compression ", header_.compression, " is not supported");
    if (header_.bits <= 8) {
      read_palette();
    } else if (masked) {
      for (size_t c = 0; c < 3; ++c) masks_[c].bits = little_endian<uint32_t>(file_, kFileHeaderBytes + 40 + 4 * c);
    } else {
      masks_ = header_.bits == 16 ? std::array<Mask, 3>{{{0x7C00}, {0x03E0}, {0x001F}}}
                                  : std::array<Mask, 3>{{{0xFF0000}, {0x00FF00}, {0x0000FF}}};
    }
  }
  Tensor decode() const;

 private:
  void read_palette() {
    TW_REQUIRE(header_.bits == 1 || header_.bits == 4 || header_.bits == 8, file_.name, ": bad BMP: ", header_.bits,
               " bits a pixel");
    const uint32_t largest = 1U << static_cast<unsigned>(header_.bits);
    const uint32_t count = header_.colors_used == 0 ? largest : std::min(header_.colors_used, largest);
    palette_.assign(256, 0);
    for (uint32_t i = 0; i < count; ++i) {
      palette_[i] = little_endian<uint32_t>(file_, kFileHeaderBytes + header_.info_bytes + 4 * size_t{i});
    }
  }
  /// Blue in the lowest byte, whatever the file's form.
  uint32_t pixel(const uint8_t* row, int64_t x) const;

  const Encoded& file_;
  const DecodeOptions& options_;
  const Header header_;
  std::vector<uint32_t> palette_;
  std::array<Mask, 3> masks_{};
};

uint32_t BmpFile::pixel(const uint8_t* row, int64_t x) const {
  if (header_.bits <= 8) {
    const int64_t bit = x * header_.bits;
    const int64_t shift = 8 - header_.bits - bit % 8;
    return palette_[static_cast<size_t>((row[bit / 8] >> shift) & ((1 << header_.bits) - 1))];
  }
  uint32_t value = 0;
  const int64_t bytes = header_.bits / 8;
  std::memcpy(&value, row + x * bytes, static_cast<size_t>(bytes));
  return value;
}

Tensor BmpFile::decode() const {
  const bool known = header_.bits <= 8 || header_.bits == 16 || header_.bits == 24 || header_.bits == 32;
  TW_REQUIRE(known, file_.name, ": bad BMP: ", header_.bits, " bits a pixel");
  const auto [height, width] = header_.size;
  const auto stride = static_cast<size_t>((width * header_.bits + 31) / 32 * 4);
  TW_REQUIRE(header_.pixel_offset <= file_.bytes.size() &&
                 stride * static_cast<size_t>(height) <= file_.bytes.size() - header_.pixel_offset,
             file_.name, ": bad BMP: cut short");
  const std::array<Mask, 3> bytes = {{{0xFF0000}, {0x00FF00}, {0x0000FF}}};
  const std::array<Mask, 3>& masks = header_.bits <= 8 ? bytes : masks_;
  const Tensor image = new_image(header_.size, channels_of(options_.color));
  std::vector<uint8_t> rgb(static_cast<size_t>(width) * 3);
  for (int64_t y = 0; y < height; ++y) {
    const int64_t stored = header_.top_down ? y : height - 1 - y;
    const uint8_t* row = file_.bytes.data() + header_.pixel_offset + static_cast<size_t>(stored) * stride;
    for (int64_t x = 0; x < width; ++x) {
      const uint32_t value = pixel(row, x);
      for (size_t c = 0; c < 3; ++c) rgb[static_cast<size_t>(3 * x) + c] = masks[c].value(value);
    }
    store_rgb_row(image, y, rgb.data());
  }
  return image;
}

}  // namespace

ImageSize bmp_size(const Encoded& file, const DecodeOptions& options) { return read_header(file, options).size; }
Tensor decode_bmp(const Encoded& file, const DecodeOptions& options) { return BmpFile(file, options).decode(); }

}  // namespace thalweg::data

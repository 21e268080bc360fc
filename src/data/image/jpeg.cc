// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <vector>

// In this order: jpeglib.h needs what <cstdio> declares, and jerror.h needs jpeglib.h.
// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include "data/image/codec.h"

namespace thalweg::data {
namespace {

/// A progressive file may hold any number of scans, each of which costs a pass over the whole image.
constexpr int kMaxScans = 500;
/// Columns decoded beyond the area: what is next to a cut is interpolated from one side only.
constexpr int64_t kMargin = 2;

/// Raw pointers only: errors leave it by longjmp.
struct Decoder {
  jpeg_decompress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf on_error;
  char message[JMSG_LENGTH_MAX];
};

Decoder& decoder_of(j_common_ptr jpeg) { return *static_cast<Decoder*>(jpeg->client_data); }

[[noreturn]] void leave_with_error(j_common_ptr jpeg) {
  Decoder& decoder = decoder_of(jpeg);
  jpeg->err->format_message(jpeg, decoder.message);
  std::longjmp(decoder.on_error, 1);
}

/// libjpeg fills in grey where pixels are missing or do not make sense, and only warns.
void heed_warning(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  switch (jpeg->err->msg_code) {
    // About headers that programs write wrongly while all pixels are there.
    case JWRN_ADOBE_XFORM:
    case JWRN_BOGUS_ICC:
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL:
    case JWRN_TOO_MUCH_DATA: return;
    default: leave_with_error(jpeg);
  }
}

void limit_scans(j_common_ptr jpeg) {
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= kMaxScans) return;
  Decoder& decoder = decoder_of(jpeg);
  std::snprintf(decoder.message, sizeof decoder.message, "more than %d scans", kMaxScans);
  std::longjmp(decoder.on_error, 1);
}

class JpegFile {
 public:
  JpegFile(const Encoded& file, const DecodeOptions& options) : file_(file), options_(options) {
    decoder_.jpeg.err = jpeg_std_error(&decoder_.errors);
    decoder_.errors.error_exit = leave_with_error;
    decoder_.errors.emit_message = heed_warning;
    decoder_.jpeg.client_data = &decoder_;
    jpeg_create_decompress(&decoder_.jpeg);
    try {
      guard([&] {
        jpeg_mem_src(&decoder_.jpeg, file_.bytes.data(), file_.bytes.size());
        jpeg_read_header(&decoder_.jpeg, TRUE);
      });
      check_size(file_.name, size(), options_);
    } catch (...) {
      jpeg_destroy_decompress(&decoder_.jpeg);
      throw;
    }
    decoder_.progress.progress_monitor = limit_scans;
    decoder_.jpeg.progress = &decoder_.progress;
  }
  JpegFile(const JpegFile&) = delete;
  JpegFile& operator=(const JpegFile&) = delete;
  ~JpegFile() { jpeg_destroy_decompress(&decoder_.jpeg); }

  ImageSize size() const {
    return {static_cast<int64_t>(decoder_.jpeg.image_height), static_cast<int64_t>(decoder_.jpeg.image_width)};
  }
  ImagePart decode(const Area& area, ImageSize target);

 private:
  /// Runs calls to libjpeg; `calls` must not own anything, as an error jumps out of it.
  template <typename Calls>
  void guard(const Calls& calls) {
    if (setjmp(decoder_.on_error) != 0) raise(file_.name, ": bad JPEG: ", decoder_.message);
    calls();
  }
  void start(int scale);
  void read_rows(const Tensor& pixels, int64_t first_column);
  void store_row(const Tensor& pixels, int64_t y, int64_t first_column);

  const Encoded& file_;
  const DecodeOptions& options_;
  Decoder decoder_{};
  std::vector<uint8_t> row_;
};

int smallest_scale(const Area& area, ImageSize target) {
  int scale = 8;
  while (scale > 1 && (area.width / scale < static_cast<double>(target.width) ||
                       area.height / scale < static_cast<double>(target.height))) {
    scale /= 2;
  }
  return scale;
}

void JpegFile::start(int scale) {
  jpeg_decompress_struct& jpeg = decoder_.jpeg;
  jpeg.scale_num = 1;
  jpeg.scale_denom = static_cast<unsigned>(scale);
  const bool four_inks = jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK;
  if (four_inks) {
    jpeg.out_color_space = JCS_CMYK;
  } else {
    jpeg.out_color_space = options_.color == ColorMode::kGray ? JCS_GRAYSCALE : JCS_RGB;
  }
  guard([&] { jpeg_start_decompress(&jpeg); });
}

ImagePart JpegFile::decode(const Area& area, ImageSize target) {
  const int scale = smallest_scale(area, target);
  start(scale);
  jpeg_decompress_struct& jpeg = decoder_.jpeg;
  const auto outwards = [&](double begin, double length, int64_t limit) {
    const int64_t first = std::max<int64_t>(static_cast<int64_t>(std::floor(begin / scale)) - kMargin, 0);
    const int64_t last = std::min(static_cast<int64_t>(std::ceil((begin + length) / scale)) + kMargin, limit);
    return std::pair(first, last);
  };
  const auto [left, right] = outwards(area.x, area.width, jpeg.output_width);
  const auto [top, bottom] = outwards(area.y, area.height, jpeg.output_height);
  // libjpeg cuts at whole blocks: it moves the left edge further out, and tells.
  auto block_left = static_cast<JDIMENSION>(left);
  auto block_width = static_cast<JDIMENSION>(right - left);
  if (left > 0 || right < static_cast<int64_t>(jpeg.output_width)) {
    guard([&] { jpeg_crop_scanline(&jpeg, &block_left, &block_width); });
  }
  if (top > 0) guard([&, skipped = top] { jpeg_skip_scanlines(&jpeg, static_cast<JDIMENSION>(skipped)); });
  const Tensor pixels = new_image({bottom - top, right - left}, channels_of(options_.color));
  read_rows(pixels, left - block_left);
  if (jpeg.output_scanline == jpeg.output_height) guard([&] { jpeg_finish_decompress(&jpeg); });
  return {pixels,
          {area.x / scale - static_cast<double>(left), area.y / scale - static_cast<double>(top), area.width / scale,
           area.height / scale}};
}

void JpegFile::read_rows(const Tensor& pixels, int64_t first_column) {
  jpeg_decompress_struct& jpeg = decoder_.jpeg;
  row_.resize(static_cast<size_t>(jpeg.output_width) * static_cast<size_t>(jpeg.output_components));
  const int64_t row_length = pixels.shape()[1] * pixels.shape()[2];
  const bool direct = row_length == static_cast<int64_t>(row_.size()) && jpeg.out_color_space != JCS_CMYK;
  for (int64_t y = 0; y < pixels.shape()[0]; ++y) {
    JSAMPROW target = direct ? pixels.data<uint8_t>() + y * row_length : row_.data();
    guard([&] { jpeg_read_scanlines(&jpeg, &target, 1); });
    if (!direct) store_row(pixels, y, first_column);
  }
}

void JpegFile::store_row(const Tensor& pixels, int64_t y, int64_t first_column) {
  const auto components = static_cast<int64_t>(decoder_.jpeg.output_components);
  uint8_t* from = row_.data() + first_column * components;
  const int64_t width = pixels.shape()[1];
  if (decoder_.jpeg.out_color_space != JCS_CMYK) {
    std::copy_n(from, width * components, pixels.data<uint8_t>() + y * width * components);
    return;
  }
  // Adobe's programs store inks inverted. The result replaces the inks, which take more room.
  const int inverted = decoder_.jpeg.saw_Adobe_marker != 0 ? 0 : 255;
  for (int64_t x = 0; x < width; ++x) {
    const int key = from[4 * x + 3] ^ inverted;
    for (int64_t c = 0; c < 3; ++c) {
      row_[static_cast<size_t>(3 * x + c)] = static_cast<uint8_t>(((from[4 * x + c] ^ inverted) * key + 127) / 255);
    }
  }
  store_rgb_row(pixels, y, row_.data());
}

}  // namespace

ImageSize jpeg_size(const Encoded& file, const DecodeOptions& options) { return JpegFile(file, options).size(); }

ImagePart decode_jpeg_part(const Encoded& file, const DecodeOptions& options, const Area& area, ImageSize target) {
  return JpegFile(file, options).decode(area, target);
}

}  // namespace thalweg::data

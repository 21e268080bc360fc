// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <vector>

#include "data/image/codec.h"

namespace thalweg::data {
namespace {

/// No chunk besides the pixels needs to be larger.
constexpr png_alloc_size_t kMaxChunkBytes = 8U << 20U;

class PngFile {
 public:
  PngFile(const Encoded& file, const DecodeOptions& options) : file_(file), options_(options) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, leave_with_error, ignore_warning);
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    try {
      if (info_ == nullptr) throw std::bad_alloc();
      guard([&] {
        png_set_read_fn(png_, this, read_bytes);
        png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
        png_set_chunk_malloc_max(png_, kMaxChunkBytes);
        png_read_info(png_, info_);
      });
      check_size(file_.name, size(), options_);
    } catch (...) {
      png_destroy_read_struct(&png_, &info_, nullptr);
      throw;
    }
  }
  PngFile(const PngFile&) = delete;
  PngFile& operator=(const PngFile&) = delete;
  ~PngFile() { png_destroy_read_struct(&png_, &info_, nullptr); }

  ImageSize size() const {
    return {static_cast<int64_t>(png_get_image_height(png_, info_)),
            static_cast<int64_t>(png_get_image_width(png_, info_))};
  }
  Tensor decode();

 private:
  [[noreturn]] static void leave_with_error(png_structp png, png_const_charp message) {
    auto* self = static_cast<PngFile*>(png_get_error_ptr(png));
    std::strncpy(self->message_, message, sizeof self->message_ - 1);
    std::longjmp(self->on_error_, 1);
  }
  static void ignore_warning(png_structp /*png*/, png_const_charp /*message*/) {}
  static void read_bytes(png_structp png, png_bytep target, size_t count) {
    auto* self = static_cast<PngFile*>(png_get_io_ptr(png));
    if (count > self->file_.bytes.size() - self->offset_) png_error(png, "cut short");
    std::memcpy(target, self->file_.bytes.data() + self->offset_, count);
    self->offset_ += count;
  }
  /// Runs calls to libpng; `calls` must not own anything, as an error jumps out of it.
  template <typename Calls>
  void guard(const Calls& calls) {
    if (setjmp(on_error_) != 0) raise(file_.name, ": bad PNG: ", message_);
    calls();
  }

  const Encoded& file_;
  const DecodeOptions& options_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  size_t offset_ = 0;
  std::jmp_buf on_error_{};
  char message_[160] = {};
};

Tensor PngFile::decode() {
  size_t row_bytes = 0;
  guard([&] {
    png_set_expand(png_);    // palettes, and fewer than 8 bits
    png_set_scale_16(png_);  // 16 bits to 8
    png_set_strip_alpha(png_);
    png_set_gray_to_rgb(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    row_bytes = png_get_rowbytes(png_, info_);
  });
  const Tensor rgb = new_image(size(), 3);
  TW_REQUIRE(row_bytes * static_cast<size_t>(size().height) == rgb.num_bytes(), file_.name,
             ": bad PNG: an unknown kind of pixels");
  std::vector<png_bytep> rows(static_cast<size_t>(size().height));
  for (size_t y = 0; y < rows.size(); ++y) rows[y] = rgb.data<uint8_t>() + y * row_bytes;
  guard([&] {
    png_read_image(png_, rows.data());
    png_read_end(png_, nullptr);
  });
  if (options_.color == ColorMode::kRgb) return rgb;
  const Tensor gray = new_image(size(), 1);
  for (size_t y = 0; y < rows.size(); ++y) store_rgb_row(gray, static_cast<int64_t>(y), rows[y]);
  return gray;
}

}  // namespace

ImageSize png_size(const Encoded& file, const DecodeOptions& options) { return PngFile(file, options).size(); }
Tensor decode_png(const Encoded& file, const DecodeOptions& options) { return PngFile(file, options).decode(); }

}  // namespace thalweg::data

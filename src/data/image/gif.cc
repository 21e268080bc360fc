// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The first picture of a GIF file, on the background of the whole screen.
#include <gif_lib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "data/image/codec.h"

namespace thalweg::data {
namespace {

class GifFile {
 public:
  GifFile(const Encoded& file, const DecodeOptions& options) : file_(file), options_(options) {
    int error = D_GIF_SUCCEEDED;
    gif_ = DGifOpen(this, read_bytes, &error);
    if (gif_ == nullptr) fail(error);
    try {
      check_size(file_.name, size(), options_);
    } catch (...) {
      DGifCloseFile(gif_, nullptr);
      throw;
    }
  }
  GifFile(const GifFile&) = delete;
  GifFile& operator=(const GifFile&) = delete;
  ~GifFile() { DGifCloseFile(gif_, nullptr); }

  ImageSize size() const { return {gif_->SHeight, gif_->SWidth}; }
  Tensor decode();

 private:
  static int read_bytes(GifFileType* gif, GifByteType* target, int count) {
    auto* self = static_cast<GifFile*>(gif->UserData);
    const size_t available = std::min(static_cast<size_t>(count), self->file_.bytes.size() - self->offset_);
    std::memcpy(target, self->file_.bytes.data() + self->offset_, available);
    self->offset_ += available;
    return static_cast<int>(available);
  }
  [[noreturn]] void fail(int error) const {
    const char* text = GifErrorString(error);
    raise(file_.name, ": bad GIF: ", text != nullptr ? text : "cut short");
  }
  void require(int status) const {
    if (status == GIF_ERROR) fail(gif_->Error);
  }
  void find_picture();
  std::vector<uint8_t> read_picture();

  const Encoded& file_;
  const DecodeOptions& options_;
  size_t offset_ = 0;
  GifFileType* gif_ = nullptr;
};

/// Stops after the description of the first picture.
void GifFile::find_picture() {
  for (;;) {
    GifRecordType record = UNDEFINED_RECORD_TYPE;
    require(DGifGetRecordType(gif_, &record));
    if (record == IMAGE_DESC_RECORD_TYPE) break;
    TW_REQUIRE(record == EXTENSION_RECORD_TYPE, file_.name, ": bad GIF: it holds no picture");
    int code = 0;
    GifByteType* block = nullptr;
    require(DGifGetExtension(gif_, &code, &block));
    while (block != nullptr) require(DGifGetExtensionNext(gif_, &block));
  }
  require(DGifGetImageDesc(gif_));
}

/// Palette entries, row by row, in the order they are seen.
std::vector<uint8_t> GifFile::read_picture() {
  const GifImageDesc& picture = gif_->Image;
  check_size(file_.name, {picture.Height, picture.Width}, options_);
  const auto width = static_cast<size_t>(picture.Width);
  std::vector<uint8_t> entries(width * static_cast<size_t>(picture.Height));
  struct Pass {
    int first, step;
  };
  const std::vector<Pass> passes =
      picture.Interlace ? std::vector<Pass>{{0, 8}, {4, 8}, {2, 4}, {1, 2}} : std::vector<Pass>{{0, 1}};
  for (const Pass& pass : passes) {
    for (int y = pass.first; y < picture.Height; y += pass.step) {
      require(DGifGetLine(gif_, entries.data() + static_cast<size_t>(y) * width, picture.Width));
    }
  }
  return entries;
}

Tensor GifFile::decode() {
  find_picture();
  const std::vector<uint8_t> entries = read_picture();
  const GifImageDesc& picture = gif_->Image;
  const ColorMapObject* palette = picture.ColorMap != nullptr ? picture.ColorMap : gif_->SColorMap;
  TW_REQUIRE(palette != nullptr, file_.name, ": bad GIF: no palette");
  const auto color_of = [](const ColorMapObject* map, int entry) {
    if (map == nullptr || entry >= map->ColorCount) return GifColorType{0, 0, 0};
    return map->Colors[entry];
  };
  const GifColorType background = color_of(gif_->SColorMap, gif_->SBackGroundColor);
  const Tensor image = new_image(size(), channels_of(options_.color));
  std::vector<uint8_t> row(static_cast<size_t>(size().width) * 3);
  for (int64_t y = 0; y < size().height; ++y) {
    const int64_t inside = y - picture.Top;
    for (int64_t x = 0; x < size().width; ++x) {
      const int64_t column = x - picture.Left;
      GifColorType color = background;
      if (inside >= 0 && inside < picture.Height && column >= 0 && column < picture.Width) {
        color = color_of(palette, entries[static_cast<size_t>(inside * picture.Width + column)]);
      }
      const std::array<uint8_t, 3> rgb = {color.Red, color.Green, color.Blue};
      std::copy(rgb.begin(), rgb.end(), row.begin() + 3 * x);
    }
    store_rgb_row(image, y, row.data());
  }
  return image;
}

}  // namespace

ImageSize gif_size(const Encoded& file, const DecodeOptions& options) { return GifFile(file, options).size(); }
Tensor decode_gif(const Encoded& file, const DecodeOptions& options) { return GifFile(file, options).decode(); }

}  // namespace thalweg::data

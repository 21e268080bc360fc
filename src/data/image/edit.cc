// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/image/edit.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "data/image/resample.h"

namespace thalweg::data {

struct ImageSample::Encoded {
  std::span<const uint8_t> bytes;
  ImageInfo info;
};

ImageSample::ImageSample(Tensor pixels, std::string name, const DecodeOptions& options)
    : name_(std::move(name)), options_(options), pixels_(std::move(pixels)) {
  TW_REQUIRE(pixels_.defined() && pixels_.dtype() == DType::kU8 && pixels_.shape().rank() == 3 &&
                 pixels_.num_elements() > 0 && (pixels_.shape()[2] == 1 || pixels_.shape()[2] == 3),
             "an image is a u8 tensor [height, width, 1 or 3 channels]");
}

ImageSample::ImageSample(std::span<const uint8_t> bytes, std::string name, const DecodeOptions& options)
    : name_(std::move(name)), options_(options), encoded_(new Encoded{bytes, {}}) {
  encoded_->info = inspect_image(bytes, name_, options);
}

ImageSample::~ImageSample() = default;
ImageSample::ImageSample(ImageSample&&) noexcept = default;
ImageSample& ImageSample::operator=(ImageSample&&) noexcept = default;

ImageSize ImageSample::size() const {
  if (encoded_ != nullptr) return encoded_->info.size;
  return {pixels_.shape()[0], pixels_.shape()[1]};
}

const Tensor& ImageSample::pixels() {
  if (encoded_ != nullptr) {
    pixels_ = decode_image(encoded_->bytes, name_, options_);
    encoded_.reset();
  }
  return pixels_;
}

/// The pixels of an area, decoded if they were not yet, at a scale that suffices for `target`.
ImagePart ImageEdit::part(const Area& area, ImageSize target) {
  if (sample_.encoded_ == nullptr || sample_.encoded_->info.format != ImageFormat::kJpeg) {
    return {sample_.pixels(), area};
  }
  const auto encoded = std::move(sample_.encoded_);
  return decode_jpeg_part({encoded->bytes, sample_.name_}, sample_.options_, area, target);
}

/// A few pixels can become any number where a transform keeps the ratio of the sides, or adds to them.
void ImageEdit::require_allowed(ImageSize target) const {
  // What is no larger needs little memory, and is asked for by the transform rather than by the image.
  constexpr int64_t kAlwaysAllowed = int64_t{4} << 20;
  const int64_t most = std::max(sample_.options_.max_pixels, kAlwaysAllowed);
  const bool allowed = target.height <= kMostPixelsAside && target.width <= kMostPixelsAside &&
                       target.height <= most / std::max<int64_t>(target.width, 1);
  TW_REQUIRE(allowed, sample_.name_.empty() ? "an image" : sample_.name_, ": ", sample_.size().width, " x ",
             sample_.size().height, " pixels would become ", target.width, " x ", target.height, "; at most ", most,
             " are allowed (DecodeOptions::max_pixels), ", kMostPixelsAside, " on a side");
}

void ImageEdit::resample_area(const Area& area, ImageSize size, Interpolation interpolation) {
  require_allowed(size);
  const ImageSize before = sample_.size();
  const ImagePart from = part(area, size);
  sample_.pixels_ = resample(from.pixels, from.area, size, interpolation);
  change_masks(size, [&](const Tensor& mask) {
    return resample(mask.reshaped({before.height, before.width, 1}), area, size, Interpolation::kNearest);
  });
  move_boxes(area, size);
}

void ImageEdit::crop(int64_t left, int64_t top, ImageSize size, const std::vector<uint8_t>& fill) {
  require_allowed(size);
  const ImageSize before = sample_.size();
  const int64_t x0 = std::clamp<int64_t>(left, 0, before.width - 1);
  const int64_t y0 = std::clamp<int64_t>(top, 0, before.height - 1);
  const int64_t x1 = std::clamp(left + size.width, x0 + 1, before.width);
  const int64_t y1 = std::clamp(top + size.height, y0 + 1, before.height);
  const Area needed{static_cast<double>(x0), static_cast<double>(y0), static_cast<double>(x1 - x0),
                    static_cast<double>(y1 - y0)};
  const ImagePart from = part(needed, {y1 - y0, x1 - x0});
  const auto moved_x = static_cast<int64_t>(from.area.x) - x0;
  const auto moved_y = static_cast<int64_t>(from.area.y) - y0;
  sample_.pixels_ = data::crop(from.pixels, left + moved_x, top + moved_y, size, fill);
  change_masks(size, [&](const Tensor& mask) {
    return data::crop(mask.reshaped({before.height, before.width, 1}), left, top, size);
  });
  move_boxes({static_cast<double>(left), static_cast<double>(top), static_cast<double>(size.width),
              static_cast<double>(size.height)},
             size);
}

namespace {

/// Mirrors [rows, columns, channels] in place of a new tensor: pixel (y, x) comes from (rows - 1 - y, x) or
/// (y, columns - 1 - x).
Tensor mirrored(const Tensor& image, bool left_to_right) {
  const int64_t rows = image.shape()[0];
  const int64_t columns = image.shape()[1];
  const int64_t channels = image.shape()[2];
  Tensor result(image.type());
  const uint8_t* in = image.data<uint8_t>();
  uint8_t* out = result.data<uint8_t>();
  const int64_t length = columns * channels;
  for (int64_t y = 0; y < rows; ++y, out += length) {
    const uint8_t* row = in + (left_to_right ? y : rows - 1 - y) * length;
    if (!left_to_right) {
      std::memcpy(out, row, static_cast<size_t>(length));
      continue;
    }
    for (int64_t x = 0; x < columns; ++x) {
      for (int64_t c = 0; c < channels; ++c) out[x * channels + c] = row[(columns - 1 - x) * channels + c];
    }
  }
  return result;
}

}  // namespace

void ImageEdit::flip_horizontally() {
  const ImageSize size = sample_.size();
  sample_.pixels_ = mirrored(sample_.pixels(), true);
  change_masks(size, [&](const Tensor& mask) { return mirrored(mask.reshaped({size.height, size.width, 1}), true); });
  const auto width = static_cast<double>(size.width);
  for (Box& box : sample_.boxes) box = {width - box.x1, box.y0, width - box.x0, box.y1};
}

void ImageEdit::flip_vertically() {
  const ImageSize size = sample_.size();
  sample_.pixels_ = mirrored(sample_.pixels(), false);
  change_masks(size, [&](const Tensor& mask) { return mirrored(mask.reshaped({size.height, size.width, 1}), false); });
  const auto height = static_cast<double>(size.height);
  for (Box& box : sample_.boxes) box = {box.x0, height - box.y1, box.x1, height - box.y0};
}

void ImageEdit::move_boxes(const Area& area, ImageSize size) {
  if (sample_.boxes.empty()) return;
  const double across = static_cast<double>(size.width) / area.width;
  const double down = static_cast<double>(size.height) / area.height;
  std::vector<bool> keep;
  for (Box& box : sample_.boxes) {
    const auto x = [&](double value) {
      return std::clamp((value - area.x) * across, 0.0, static_cast<double>(size.width));
    };
    const auto y = [&](double value) {
      return std::clamp((value - area.y) * down, 0.0, static_cast<double>(size.height));
    };
    box = {x(box.x0), y(box.y0), x(box.x1), y(box.y1)};
    keep.push_back(box.x1 > box.x0 && box.y1 > box.y0);
  }
  keep_boxes(keep);
}

void ImageEdit::keep_boxes(const std::vector<bool>& keep) {
  const auto count = static_cast<int64_t>(std::count(keep.begin(), keep.end(), true));
  if (count == static_cast<int64_t>(keep.size())) return;
  const bool has_labels = !sample_.labels.empty();
  Tensor masks;
  if (sample_.masks.defined()) {
    const Shape& shape = sample_.masks.shape();
    masks = Tensor(DType::kU8, {count, shape[1], shape[2]});
  }
  size_t kept = 0;
  for (size_t i = 0; i < keep.size(); ++i) {
    if (!keep[i]) continue;
    sample_.boxes[kept] = sample_.boxes[i];
    if (has_labels) sample_.labels[kept] = sample_.labels[i];
    if (masks.defined()) {
      const Tensor mask = sample_.masks.rows(static_cast<int64_t>(i), static_cast<int64_t>(i) + 1);
      std::memcpy(masks.rows(static_cast<int64_t>(kept), static_cast<int64_t>(kept) + 1).raw(), mask.raw(),
                  mask.num_bytes());
    }
    ++kept;
  }
  sample_.boxes.resize(kept);
  if (has_labels) sample_.labels.resize(kept);
  sample_.masks = masks;
}

template <typename Change>
void ImageEdit::change_masks(ImageSize size, const Change& change) {
  if (!sample_.masks.defined()) return;
  const int64_t count = sample_.masks.shape()[0];
  Tensor masks(DType::kU8, {count, size.height, size.width});
  for (int64_t i = 0; i < count; ++i) {
    const Tensor changed = change(sample_.masks.rows(i, i + 1));
    std::memcpy(masks.rows(i, i + 1).raw(), changed.raw(), changed.num_bytes());
  }
  sample_.masks = masks;
}

}  // namespace thalweg::data

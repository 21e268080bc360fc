// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/image_batch.h"

#include <algorithm>
#include <atomic>

#include "base/threads.h"
#include "data/image/codec.h"

namespace thalweg::data {
namespace {

Tensor pixels_of(const ImageBytes& image, const DecodeOptions& options) {
  check_size(image.name, image.size, options);
  TW_REQUIRE(image.channels == 1 || image.channels == 3 || image.channels == 4, image.name, ": ", image.channels,
             " channels; images have 1, 3 or 4");
  const int64_t row_bytes = image.size.width * image.channels;
  TW_REQUIRE(image.bytes.size() == static_cast<size_t>(image.size.height * row_bytes), image.name, ": ",
             image.bytes.size(), " bytes are not the pixels of ", image.size.height, " x ", image.size.width, " x ",
             image.channels);
  Tensor pixels = new_image(image.size, channels_of(options.color));
  std::vector<uint8_t> rgb(static_cast<size_t>(image.size.width) * 3);
  const bool is_grey = image.channels == 1, is_rgb = image.order == ChannelOrder::kRgb;
  const size_t green = is_grey ? 0 : 1, last = is_grey ? 0 : 2;
  const size_t red = is_rgb ? 0 : last, blue = is_rgb ? last : 0;
  for (int64_t y = 0; y < image.size.height; ++y) {
    const uint8_t* pixel = image.bytes.data() + y * row_bytes;
    for (size_t x = 0; x < rgb.size(); x += 3, pixel += image.channels) {
      rgb[x] = pixel[red];
      rgb[x + 1] = pixel[green];
      rgb[x + 2] = pixel[blue];
    }
    store_rgb_row(pixels, y, rgb.data());
  }
  return pixels;
}

void run_one(const Pipeline& pipeline, const DecodeOptions& options, const ImageBytes& image, void* row) {
  ImageSample sample = image.channels > 0 ? ImageSample(pixels_of(image, options), image.name, options)
                                          : ImageSample(image.bytes, image.name, options);
  pipeline.run(sample, {}, 0, row);
}

}  // namespace

std::vector<std::string> run_pipeline(const Pipeline& pipeline, const DecodeOptions& options,
                                      std::span<const ImageBytes> images, int threads, void* rows) {
  const TensorType type = pipeline.output_type(channels_of(options.color));
  const size_t row_bytes = static_cast<size_t>(type.shape.num_elements()) * size_of(type.dtype);
  std::vector<std::string> problems(images.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < images.size(); i = next++) {
      try {
        run_one(pipeline, options, images[i], static_cast<char*>(rows) + i * row_bytes);
      } catch (const std::exception& error) {
        problems[i] = error.what();
      }
    }
  };
  const size_t useful = std::min(static_cast<size_t>(std::max(1, threads)), images.size());
  run_on_threads(static_cast<int>(useful), work);
  return problems;
}

}  // namespace thalweg::data

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "thalweg/data/table.h"
#include "thalweg/data/transforms.h"
#include "thalweg/error.h"

/// What the fuzzers of data run, and data_corpus_test.cc repeats: anything but a result or an Error is a finding.
namespace thalweg::fuzz {

/// As in training and in prediction: sizes that depend on the image, parts of it, and a larger canvas.
inline const std::array<data::Pipeline, 3>& image_pipelines() {
  static const std::array<data::Pipeline, 3> kPipelines = {
      data::Pipeline({data::ResizeShorter{.shorter = 16}, data::CenterCrop{.height = 8, .width = 8}}),
      data::Pipeline({data::RandomResizedCrop{.height = 8, .width = 8}, data::HorizontalFlip{}}),
      data::Pipeline({data::Expand{.max_ratio = 20, .probability = 1},
                      data::Resize{.height = 8, .width = 8, .interpolation = data::Interpolation::kBicubic}})};
  return kPipelines;
}

/// JPEG, PNG, GIF and BMP: the bytes say which. Whole, and by way of pipelines.
inline void decode_images(std::string_view bytes) {
  data::DecodeOptions options;
  options.max_pixels = int64_t{1} << 20;
  const std::span<const uint8_t> span(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  for (const data::ColorMode color : {data::ColorMode::kRgb, data::ColorMode::kGray}) {
    options.color = color;
    try {
      data::inspect_image(span, "fuzzed", options);
      data::decode_image(span, "fuzzed", options);
    } catch (const Error&) {
    }
  }
  std::array<float, 3 * 8 * 8> elements{};
  options.color = data::ColorMode::kRgb;
  for (const data::Pipeline& pipeline : image_pipelines()) {
    try {
      data::ImageSample sample(span, "fuzzed", options);
      pipeline.run(sample, {}, static_cast<int64_t>(bytes.size()), elements.data());
    } catch (const Error&) {
    }
  }
}

/// Both ways to read it: numbers without Arrow, and Arrow's parser where that gives up.
inline void read_csv(std::string_view bytes) {
  const int file = ::memfd_create("fuzzed", MFD_CLOEXEC);
  const bool written = file >= 0 && ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  if (written) {
    data::TableOptions options{.inputs = {{{"a", "b"}}}, .targets = {{{"a"}, DType::kI32, true}}};
    options.format = data::TableFormat::kCsv;
    options.memory_bytes = int64_t{16} << 20;
    options.threads = 1;
    try {
      const data::Table table("/proc/self/fd/" + std::to_string(file), options);
      if (table.size() > 0) table.fetch(std::vector<int64_t>{0, table.size() - 1});
    } catch (const Error&) {
    }
  }
  ::close(file);
}

}  // namespace thalweg::fuzz

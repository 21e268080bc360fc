// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "thalweg/data/transforms.h"

namespace thalweg::data {

enum class ChannelOrder {
  kBgr,  ///< as OpenCV and Spark keep them
  kRgb
};

/// An image that somebody else keeps in memory.
struct ImageBytes {
  std::span<const uint8_t> bytes;
  /// For errors.
  std::string name;
  /// If not empty the bytes are pixels: rows of three colours (and alpha), or of grey.
  ImageSize size = {};
  int64_t channels = 0;
  ChannelOrder order = ChannelOrder::kBgr;
};

/// Decodes images, runs the pipeline on them and writes each into its row of `rows`, which has room for all, on
/// `threads` threads. Gives an entry for each image: why it failed, or "". What its row then holds is not defined.
std::vector<std::string> run_pipeline(const Pipeline& pipeline, const DecodeOptions& options,
                                      std::span<const ImageBytes> images, int threads, void* rows);

}  // namespace thalweg::data

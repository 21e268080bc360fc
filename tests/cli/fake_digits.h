// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "support/temporary_directory.h"

namespace thalweg::testing {

/// An IDX file of u8 in which nothing matters but the shape; labels are 0 to 9.
inline void write_idx(const std::string& path, const std::vector<uint32_t>& dims) {
  std::string bytes = {0, 0, 8, static_cast<char>(dims.size())};
  size_t count = 1;
  for (const uint32_t dim : dims) {
    for (const unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(dim >> shift & 255U);
    count *= dim;
  }
  for (size_t i = 0; i < count; ++i) bytes += static_cast<char>(i % 10);
  write_bytes(path, bytes);
}

/// What looks like the four files of MNIST.
inline void write_fake_digits(const TemporaryDirectory& folder) {
  for (const char* part : {"train", "t10k"}) {
    const uint32_t count = part == std::string("train") ? 640 : 64;
    write_idx(folder / (std::string(part) + "-images-idx3-ubyte"), {count, 28, 28});
    write_idx(folder / (std::string(part) + "-labels-idx1-ubyte"), {count});
  }
}

}  // namespace thalweg::testing

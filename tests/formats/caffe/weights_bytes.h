// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "formats/wire.h"

namespace thalweg::testing {

struct BlobBytes {
  std::vector<int64_t> dims;
  std::vector<float> values;
};
struct LayerBytes {
  std::string name;
  std::vector<BlobBytes> blobs;
};

enum class CaffeForm { kPresent, kV1, kV0 };

inline formats::WireWriter blob_message(const BlobBytes& blob, CaffeForm form) {
  formats::WireWriter writer, shape;
  if (form == CaffeForm::kPresent) {
    shape.packed(1, blob.dims);
    writer.message(7, std::move(shape));
  } else {
    // Four dimensions, ones at the front.
    for (uint32_t i = 0; i < 4; ++i) {
      const size_t missing = 4 - blob.dims.size();
      writer.integer(i + 1, i < missing ? 1 : blob.dims[i - missing]);
    }
  }
  writer.packed(5, blob.values);
  return writer;
}

/// A file of weights, as Caffe would write it in one of its forms.
inline std::string caffe_weights(const std::vector<LayerBytes>& layers, CaffeForm form = CaffeForm::kPresent) {
  formats::WireWriter net;
  net.bytes(1, "net");
  for (const LayerBytes& layer : layers) {
    formats::WireWriter message;
    const bool v1 = form == CaffeForm::kV1;
    message.bytes(v1 ? 4 : 1, layer.name);
    const uint32_t field = form == CaffeForm::kPresent ? 7 : v1 ? 6 : 50;
    for (const BlobBytes& blob : layer.blobs) message.message(field, blob_message(blob, form));
    if (form == CaffeForm::kV0) {
      formats::WireWriter outer;
      outer.message(1, std::move(message));
      message = std::move(outer);
    }
    net.message(form == CaffeForm::kPresent ? 100 : 2, std::move(message));
  }
  std::string bytes;
  net.emit([&](std::string_view piece) { bytes += piece; });
  return bytes;
}

}  // namespace thalweg::testing

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/data/image.h"

namespace thalweg::data {

/// An encoded image, with the name that errors about it begin with. The bytes must outlive it.
struct Encoded {
  std::span<const uint8_t> bytes;
  const std::string& name;
};

/// Throws unless both extents are positive, no more than kMostPixelsAside, and their product is within the limit. Every
/// decoder calls it before it allocates anything that depends on the extents.
void check_size(const std::string& name, ImageSize size, const DecodeOptions& options);

int64_t channels_of(ColorMode color);

/// u8 [height, width, channels], uninitialised.
Tensor new_image(ImageSize size, int64_t channels);

/// A decoder delivers colours through this: one row of RGB triples into row `y` of an image of either mode.
void store_rgb_row(const Tensor& image, int64_t y, const uint8_t* rgb);

ImageSize jpeg_size(const Encoded& file, const DecodeOptions& options);
ImageSize png_size(const Encoded& file, const DecodeOptions& options);
ImageSize gif_size(const Encoded& file, const DecodeOptions& options);
ImageSize bmp_size(const Encoded& file, const DecodeOptions& options);
Tensor decode_png(const Encoded& file, const DecodeOptions& options);
Tensor decode_gif(const Encoded& file, const DecodeOptions& options);
Tensor decode_bmp(const Encoded& file, const DecodeOptions& options);

/// A rectangle in pixels, of which `x`, `y` is the upper left corner. May lie between pixels.
struct Area {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

/// Pixels of an image, perhaps not all of them and perhaps at a smaller scale.
struct ImagePart {
  Tensor pixels;
  /// Where the area that was asked for lies in `pixels`.
  Area area;
};

/// Decodes `area` of a JPEG (whole pixels, within the image), at the smallest of the scales 1, 1/2, 1/4, 1/8 at which
/// it still has at least as many pixels as `target` each way. Rows and columns away from the area are not decoded.
ImagePart decode_jpeg_part(const Encoded& file, const DecodeOptions& options, const Area& area, ImageSize target);

}  // namespace thalweg::data

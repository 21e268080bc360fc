// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "thalweg/data/dataset.h"
#include "thalweg/data/image.h"

/// What is done to images between the file and the batch. Each transform is a plain struct; a Pipeline is a list of
/// them that can be written as JSON and read back, so that a model's preprocessing travels with the model.
namespace thalweg::data {

/// How pixels are resampled. All but kNearest are antialiased when the image becomes smaller: the filter then covers as
/// many pixels of the source as fall on one of the result.
enum class Interpolation {
  kNearest,
  kBilinear,
  kBicubic,  ///< Keys' cubic, a = -0.5
  kArea      ///< the mean of the covered pixels
};

struct Resize {
  int64_t height = 224;
  int64_t width = 224;
  Interpolation interpolation = Interpolation::kBilinear;
};

/// To a length of the shorter side, the ratio of the sides kept; less if the longer side would exceed `max_longer`
/// (0: no limit but that of DecodeOptions::max_pixels, past which the image is refused).
struct ResizeShorter {
  int64_t shorter = 256;
  int64_t max_longer = 0;
  Interpolation interpolation = Interpolation::kBilinear;
};

/// What an image lacks is black.
struct CenterCrop {
  int64_t height = 224;
  int64_t width = 224;
};

/// Anywhere in the image after `padding` black pixels were added on each side (and more where it is still too small).
struct RandomCrop {
  int64_t height = 224;
  int64_t width = 224;
  int64_t padding = 0;
};

/// A part of the image, of random area (as a share of the whole) and ratio of width to height, scaled to one size.
struct RandomResizedCrop {
  int64_t height = 224;
  int64_t width = 224;
  std::array<double, 2> area = {0.08, 1.0};
  std::array<double, 2> ratio = {3.0 / 4.0, 4.0 / 3.0};
  Interpolation interpolation = Interpolation::kBilinear;
};

struct HorizontalFlip {
  double probability = 0.5;
};

struct VerticalFlip {
  double probability = 0.5;
};

/// Each factor is drawn from [1 - x, 1 + x] (not below 0), the turn of the hue from [-hue, hue] of the whole circle,
/// and the four are applied in random order.
struct ColorJitter {
  double brightness = 0;
  double contrast = 0;
  double saturation = 0;
  double hue = 0;
};

/// Adds to all pixels one colour, drawn along the principal components of ImageNet's colours (Krizhevsky et al., 2012).
struct Lighting {
  double deviation = 0.1;
};

/// Puts the image somewhere on a canvas of `fill`, 1 to `max_ratio` times as large each way, to make objects smaller.
struct Expand {
  double max_ratio = 4.0;
  double probability = 0.5;
  std::array<double, 3> fill = {123.7, 116.3, 103.5};
};

/// A part of the image that overlaps some box by at least a bound drawn from `min_overlap` (Liu et al., SSD, 2016); a
/// bound of 0 leaves the image as it is. Boxes stay if their centre does.
struct RandomBoxCrop {
  std::vector<double> min_overlap = {0.0, 0.1, 0.3, 0.5, 0.7, 0.9};
  std::array<double, 2> side = {0.3, 1.0};
  std::array<double, 2> ratio = {0.5, 2.0};
  int64_t attempts = 50;
};

using Transform = std::variant<Resize, ResizeShorter, CenterCrop, RandomCrop, RandomResizedCrop, HorizontalFlip,
                               VerticalFlip, ColorJitter, Lighting, Expand, RandomBoxCrop>;

enum class ImageLayout { kNchw, kNhwc };

/// How pixels become elements of a batch: (pixel / 255 - mean) / deviation for each channel in f32, or pixels as they
/// are in u8. One number in `mean` or `deviation` serves all channels.
struct Normalize {
  std::vector<double> mean = {0.485, 0.456, 0.406};
  std::vector<double> deviation = {0.229, 0.224, 0.225};
  ImageLayout layout = ImageLayout::kNchw;
  DType dtype = DType::kF32;
};

/// In pixels from the upper left corner; x1 and y1 are one past the last.
struct Box {
  double x0 = 0;
  double y0 = 0;
  double x1 = 0;
  double y1 = 0;
  bool operator==(const Box&) const = default;
};

/// An image on its way through a pipeline, with what moves along with its pixels. A JPEG that was given as bytes is
/// decoded when its pixels are first needed, and then only as much of it, and at the scale, that is needed.
class ImageSample {
 public:
  /// u8 [height, width, channels]. `name` is for errors.
  explicit ImageSample(Tensor pixels, std::string name = {}, const DecodeOptions& options = {});
  /// The bytes must stay until `pixels` was called or a pipeline has run.
  ImageSample(std::span<const uint8_t> bytes, std::string name, const DecodeOptions& options = {});
  ~ImageSample();
  ImageSample(ImageSample&&) noexcept;
  ImageSample& operator=(ImageSample&&) noexcept;

  ImageSize size() const;
  const Tensor& pixels();
  const std::string& name() const { return name_; }

  std::vector<Box> boxes;
  /// Of the boxes; empty or as many.
  std::vector<int64_t> labels;
  /// u8 [count, height, width] or undefined; as many as boxes if there are boxes. Never interpolated.
  Tensor masks;

 private:
  friend class ImageEdit;
  struct Encoded;
  std::string name_;
  DecodeOptions options_;
  Tensor pixels_;
  std::unique_ptr<Encoded> encoded_;
};

/// Transforms in order, then the conversion to elements of a batch.
class Pipeline {
 public:
  /// Pixels as elements, with ImageNet's mean and deviation.
  Pipeline() = default;
  Pipeline(std::vector<Transform> transforms, Normalize output = {});

  /// The transforms only. What random ones do depends on `draw` and `index` alone. Throws Error that begins with the
  /// sample's name, also if a transform would make more pixels of it than DecodeOptions::max_pixels allows.
  void transform(ImageSample& sample, const Draw& draw, int64_t index) const;
  /// Transforms, and writes the elements; `target` has as many as a row of `output_type`.
  void run(ImageSample& sample, const Draw& draw, int64_t index, void* target) const;
  /// Of one image with so many channels, without the batch. Throws if images may come out in different sizes.
  TensorType output_type(int64_t channels) const;

  /// The same without chance, for prediction, with images of the same size coming out. A crop is taken from the
  /// middle: for random_resized_crop after the shorter side was scaled so that 1/8 of it is cut off (as 224 of 256), or
  /// less if the crops of training never leave out as much. A flip that always happens stays; other flips, changes of
  /// colour, expand and random_box_crop are left out.
  Pipeline for_prediction() const;

  const std::vector<Transform>& transforms() const { return transforms_; }
  const Normalize& output() const { return output_; }

  /// {"transforms": [{"name": "resize", "height": 256, ...}, ...], "output": {...}}. What is absent keeps its default;
  /// unknown names and keys are errors that list the nearest known ones.
  std::string to_json() const;
  static Pipeline from_json(const std::string& text);

 private:
  std::vector<Transform> transforms_;
  Normalize output_;
};

}  // namespace thalweg::data

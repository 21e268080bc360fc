// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thalweg/data/annotations.h"
#include "thalweg/data/files.h"
#include "thalweg/data/transforms.h"

namespace thalweg::data {

struct ObjectPicturesOptions {
  /// Boxes and masks go through it with the pixels. Pictures must leave it in one size.
  Pipeline pipeline = {};
  DecodeOptions decode = {};
  /// Of a picture; of more, the largest boxes stay.
  int64_t max_objects = 100;
  /// The size in which masks are handed out, as that of YOLACT's prototypes; 0 x 0: none are.
  ImageSize masks = {};
  /// Objects that leave the pipeline narrower or lower than this share of the picture are left out; YOLACT has 4 / 550.
  double min_side = 0.0;
  /// How often four pictures, this one and three others at random, come as one in front of the pipeline: parts of them,
  /// scaled by chance, meet in a point near the middle of a canvas of `mosaic_size`. Objects stay if their centre does.
  double mosaic_probability = 0.0;
  ImageSize mosaic_size = {640, 640};
};

/// Pictures with the objects in them. A sample has as many rows of objects as `max_objects`, filled from the front:
///   inputs   the picture
///   targets  boxes f32 [N, max_objects, 4]: x0, y0, x1, y1 as shares of the picture's width and height
///            labels i64 [N, max_objects]: the category's place among the ids in order, -1 where there is no object
///            crowds u8 [N, max_objects]: 1 for crowd regions
///            masks u8 [N, max_objects, height, width] of 0 and 1, if asked for
/// Objects without an area in their picture are left out, as are those without a mask if masks are asked for. Pictures
/// whose file cannot be read, or has another size than the annotations say, are SampleErrors.
class ObjectPictures : public Dataset {
 public:
  /// `directory` holds the pictures' files.
  ObjectPictures(const vision::Annotations& annotations, const std::string& directory,
                 const ObjectPicturesOptions& options);
  ObjectPictures(const vision::Annotations& annotations, FilesPtr files, const ObjectPicturesOptions& options);
  ~ObjectPictures() override;

  int64_t size() const override;
  std::vector<TensorType> input_types() const override;
  std::vector<TensorType> target_types() const override;
  void read(std::span<const int64_t> indices, const Draw& draw, const Batch& batch, int64_t row) const override;
  bool is_costly() const override { return true; }

  /// The name of each label.
  const std::vector<std::string>& classes() const;
  const vision::Picture& picture(int64_t index) const;
  /// What was left out of the annotations, and pictures of which there is no file (those are not listed among the
  /// samples).
  const AnnotationProblems& problems() const;

 private:
  class Impl;
  /// Shared with its readers, as ImageFolder's.
  std::shared_ptr<Impl> impl_;
};

}  // namespace thalweg::data

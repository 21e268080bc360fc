// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/data/metadata.h"
#include "thalweg/data/table_inputs.h"
#include "thalweg/data/transforms.h"
#include "thalweg/model.h"

/// From raw data, as people have them, to the inputs of a model, and from its outputs to answers with names: what a
/// model's file says of both (data/metadata.h), for every door to ask.
namespace thalweg {

/// A picture in memory that somebody else keeps: either the bytes of a file or pixels.
struct Picture {
  /// Errors begin with it.
  std::string name;
  /// Of a JPEG, PNG, GIF or BMP file.
  std::span<const uint8_t> bytes;
  /// u8 [height, width], or [height, width, channels] with 1 (grey), 3 (red, green, blue) or 4 (and alpha) channels.
  /// Undefined if there are bytes.
  Tensor pixels;
};

/// How the only input of a model takes a picture.
struct PictureInput {
  data::ImageLayout layout = data::ImageLayout::kNchw;
  int64_t channels = 3;
  /// kFree where the model takes any.
  int64_t height = kFree, width = kFree;
  /// f32 or u8.
  DType dtype = DType::kF32;
};

/// By the shape of the input. `layout` overrules what the shape suggests. Throws InputError if the model has several
/// inputs, or its input has not four dimensions or is of another type.
PictureInput picture_input(const Model& model, std::optional<data::ImageLayout> layout = {});

/// What most pretrained networks take, for files that do not say it: ImageNet's mean and deviation, or pixels from 0 to
/// 1 if they are grey.
data::Normalize usual_elements(const PictureInput& input);

/// The inputs of a model as columns of rows fill them. `unknown` is the type of those that do not say theirs.
std::vector<data::TableInput> table_inputs(const Model& model, DType unknown = DType::kF32);

/// A class and how likely it is.
struct RankedClass {
  int64_t index = 0;
  double score = 0;
};

/// The `count` largest elements (fewer if there are fewer), the largest first; of equal ones the first, and NaN last.
std::vector<RankedClass> largest(const Tensor& values, int64_t count);

/// How many classes are told where nobody says how many.
inline constexpr int64_t kUsualTop = 5;

/// A model together with what its file says of raw data and of its answers. The model must outlive it.
class Predictor {
 public:
  explicit Predictor(const Model& model);

  /// True if the file says how texts become the model's input.
  bool takes_texts() const { return metadata_.text.has_value(); }
  /// True if the file says how pictures do.
  bool takes_pictures() const { return metadata_.preprocessing.has_value(); }
  /// True if the file says which columns do.
  bool takes_columns() const { return metadata_.features.has_value() || !metadata_.columns.empty(); }

  /// The inputs of the model for these pictures, decoded on `threads` threads (0: those that there are). Where the file
  /// does not say how, they are resized and become `usual_elements`, with a warning. Throws InputError that names the
  /// picture.
  std::vector<Tensor> from_pictures(std::span<const Picture> pictures, int threads = 0) const;
  /// Throws InputError if the file does not say how, or the model takes something else.
  std::vector<Tensor> from_texts(std::span<const std::string> texts) const;

  /// True if the model says of every output that it has a row for each row of the inputs. What was found in pictures
  /// has not: nobody knows where that of one ends, so that they are best run one by one.
  bool gives_rows() const;
  /// True if rows of the first output tell of classes: the file has names for its columns, or it is what a softmax of
  /// rows gives.
  bool gives_classes() const;
  /// How likely each class is, f32 [rows, classes], of the first output of the model.
  Tensor probabilities(const Tensor& output) const;
  /// "7" if the file has no name for class 7.
  std::string class_name(int64_t index) const;

 private:
  data::Pipeline pipeline() const;

  const Model& model_;
  data::ModelMetadata metadata_;
};

}  // namespace thalweg

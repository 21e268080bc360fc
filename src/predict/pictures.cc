// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "base/threads.h"
#include "base/warning.h"
#include "data/image_batch.h"
#include "thalweg/input_error.h"
#include "thalweg/predictor.h"

namespace thalweg {
namespace {

/// Red, green, blue, as people's arrays have them; batches of images hold them the other way round.
data::ImageBytes image_of(const Picture& picture) {
  data::ImageBytes image{picture.bytes, picture.name};
  if (!picture.pixels.defined()) return image;
  const Tensor& pixels = picture.pixels;
  const int rank = pixels.shape().rank();
  if (pixels.dtype() != DType::kU8 || (rank != 2 && rank != 3)) {
    raise_input_error(picture.name, ": pixels are u8 [height, width] or [height, width, channels], not ",
                      pixels.type());
  }
  image.size = {pixels.shape()[0], pixels.shape()[1]};
  image.channels = rank == 3 ? pixels.shape()[2] : 1;
  image.bytes = {pixels.data<uint8_t>(), static_cast<size_t>(pixels.num_elements())};
  image.order = data::ChannelOrder::kRgb;
  return image;
}

}  // namespace

PictureInput picture_input(const Model& model, std::optional<data::ImageLayout> layout) {
  const ValueDescription& input = model.inputs().at(0);
  if (model.inputs().size() != 1 || (input.shape.has_value() && input.shape->rank() != 4)) {
    raise_input_error("images are data for a model with one input of four dimensions");
  }
  PictureInput result;
  result.dtype = input.dtype.value_or(DType::kF32);
  if (result.dtype != DType::kF32 && result.dtype != DType::kU8) {
    raise_input_error("images become f32 or u8; input ", printable(input.name), " takes ", name_of(result.dtype));
  }
  const Shape shape = input.shape.value_or(Shape{kFree, kFree, kFree, kFree});
  const auto counts_channels = [](int64_t dim) { return dim == 1 || dim == 3; };
  const bool channels_last = counts_channels(shape[3]) && !counts_channels(shape[1]);
  result.layout = layout.value_or(channels_last ? data::ImageLayout::kNhwc : data::ImageLayout::kNchw);
  const bool nhwc = result.layout == data::ImageLayout::kNhwc;
  result.channels = shape[nhwc ? 3 : 1] == 1 ? 1 : 3;
  result.height = shape[nhwc ? 1 : 2];
  result.width = shape[nhwc ? 2 : 3];
  return result;
}

data::Normalize usual_elements(const PictureInput& input) {
  data::Normalize output;
  output.layout = input.layout;
  output.dtype = input.dtype;
  if (input.channels == 1) {
    output.mean = {0};
    output.deviation = {1};
  }
  return output;
}

data::Pipeline Predictor::pipeline() const {
  if (metadata_.preprocessing.has_value()) return *metadata_.preprocessing;
  const PictureInput input = picture_input(model_);
  if (input.height == kFree || input.width == kFree) {
    raise_input_error("the model takes images of any size, and its file does not say how they become its input");
  }
  data::Pipeline usual({data::Resize{input.height, input.width}}, usual_elements(input));
  warn_once("the model does not say how images become its input; taken to be " + usual.to_json());
  return usual;
}

std::vector<Tensor> Predictor::from_pictures(std::span<const Picture> pictures, int threads) const {
  const data::Pipeline pipeline = this->pipeline();
  data::DecodeOptions decode;
  const int64_t channels = picture_input(model_, pipeline.output().layout).channels;
  decode.color = channels == 1 ? data::ColorMode::kGray : data::ColorMode::kRgb;
  const TensorType row = pipeline.output_type(channels);
  std::vector<int64_t> dims = row.shape.dims();
  dims.insert(dims.begin(), static_cast<int64_t>(pictures.size()));
  const Tensor rows(row.dtype, Shape(dims));
  std::vector<data::ImageBytes> images;
  for (const Picture& picture : pictures) images.push_back(image_of(picture));
  const std::vector<std::string> problems =
      data::run_pipeline(pipeline, decode, images, threads > 0 ? threads : available_processors(), rows.raw());
  const auto bad = std::find_if(problems.begin(), problems.end(), [](const auto& problem) { return !problem.empty(); });
  if (bad != problems.end()) throw InputError(*bad);
  return {rows};
}

}  // namespace thalweg

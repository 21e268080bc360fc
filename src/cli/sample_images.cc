// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/sample_images.h"

#include <charconv>

#include "base/text.h"
#include "base/warning.h"
#include "cli/source_kind.h"
#include "data/file_bytes.h"
#include "thalweg/data/remote_files.h"
#include "thalweg/input_error.h"
#include "thalweg/predictor.h"

namespace thalweg::cli {
namespace {

/// "256" or "256x192"; the second is the first if absent.
struct Extent {
  int64_t height = 0, width = 0;
  bool is_side = false;
};

Extent parse_extent(const char* option, const std::string& text) {
  const auto parse = [&](const std::string& part) {
    int64_t value = 0;
    const auto [end, failure] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (failure != std::errc() || end != part.data() + part.size() || value <= 0) {
      wrong_usage(option, " ", printable(text), " is neither SIDE nor HEIGHTxWIDTH");
    }
    return value;
  };
  const size_t cross = text.find('x');
  if (cross == std::string::npos) return {parse(text), parse(text), true};
  return {parse(text.substr(0, cross)), parse(text.substr(cross + 1)), false};
}

data::Interpolation interpolation_of(const std::string& name) {
  if (name == "nearest") return data::Interpolation::kNearest;
  if (name == "bicubic") return data::Interpolation::kBicubic;
  return name == "area" ? data::Interpolation::kArea : data::Interpolation::kBilinear;
}

PictureInput image_input(const SampleOptions& options, const Model& model) {
  std::optional<data::ImageLayout> layout;
  if (!options.layout.empty()) {
    layout = options.layout == "nhwc" ? data::ImageLayout::kNhwc : data::ImageLayout::kNchw;
  }
  try {
    return picture_input(model, layout);
  } catch (const InputError& error) {
    wrong_usage(error.what());
  }
}

std::vector<data::Transform> transforms_of(const SampleOptions& options, const PictureInput& input) {
  const data::Interpolation interpolation = interpolation_of(options.interpolation);
  std::vector<data::Transform> transforms;
  if (!options.resize.empty()) {
    const Extent size = parse_extent("--resize", options.resize);
    if (size.is_side && !options.crop.empty()) {
      transforms.push_back(data::ResizeShorter{size.height, 0, interpolation});
    } else {
      transforms.push_back(data::Resize{size.height, size.width, interpolation});
    }
  }
  if (!options.crop.empty()) {
    const Extent size = parse_extent("--crop", options.crop);
    transforms.push_back(data::CenterCrop{size.height, size.width});
  }
  if (!transforms.empty()) return transforms;
  if (input.height == kFree || input.width == kFree) {
    wrong_usage("the model takes images of any size: give --resize, --crop or both");
  }
  transforms.push_back(data::Resize{input.height, input.width, interpolation});
  return transforms;
}

/// One picture as a batch.
Tensor read_one(const std::string& path, const data::Pipeline& pipeline, int64_t channels,
                const data::DecodeOptions& decode) {
  std::vector<uint8_t> bytes;
  read_bytes(path, bytes);
  data::ImageSample sample(bytes, path, decode);
  const TensorType type = pipeline.output_type(channels);
  std::vector<int64_t> dims = type.shape.dims();
  dims.insert(dims.begin(), 1);
  Tensor batch(type.dtype, Shape(dims));
  pipeline.run(sample, {}, 0, batch.raw());
  return batch;
}

}  // namespace

data::Pipeline image_pipeline(const SampleOptions& options, const Model& model) {
  const auto in_file = data::metadata_from(model.metadata()).preprocessing;
  if (in_file.has_value() && !options.describe_images()) return *in_file;
  const PictureInput input = image_input(options, model);
  data::Normalize output = usual_elements(input);
  if (!options.mean.empty()) output.mean = options.mean;
  if (!options.deviation.empty()) output.deviation = options.deviation;
  const data::Pipeline pipeline(transforms_of(options, input), output);
  if (!options.describe_images()) {
    warn_once("the model does not say how images become its input; taken to be " + pipeline.to_json() +
              " (--resize, --crop, --mean and --std say it)");
  }
  return pipeline;
}

void read_bytes(const std::string& path, std::vector<uint8_t>& bytes) {
  if (!data::is_uri(path)) return data::read_file(path, bytes);
  const data::RemoteFile file = data::remote_file(path);
  file.files->read(file.path, bytes, data::kMostFileBytes);
}

Samples open_images(const SampleOptions& options, const Model& model) {
  const data::Pipeline pipeline = image_pipeline(options, model);
  const int64_t channels = image_input(options, model).channels;
  data::DecodeOptions decode;
  decode.color = channels == 1 ? data::ColorMode::kGray : data::ColorMode::kRgb;
  decode.max_pixels = options.max_pixels;
  if (is_image_file(options.path)) {
    std::vector<Tensor> inputs = {read_one(options.path, pipeline, channels, decode)};
    return {std::make_unique<data::TensorDataset>(std::move(inputs)),
            [path = options.path](int64_t /*index*/) { return path; }};
  }
  data::ImageFolderOptions folder;
  folder.pipeline = pipeline;
  folder.decode = decode;
  folder.labels = data::ImageLabels::kNone;
  auto images = data::is_uri(options.path)
                    ? std::make_unique<data::ImageFolder>(data::remote_files(options.path), folder)
                    : std::make_unique<data::ImageFolder>(options.path, folder);
  const data::ImageFolder* names = images.get();
  return {std::move(images), [names](int64_t index) { return names->path(index); }};
}

}  // namespace thalweg::cli

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Layers that have data from somewhere, which become inputs of the graph.
#include "formats/caffe/layer_context.h"
#include "formats/caffe/layer_kinds.h"

namespace thalweg::caffe {
namespace {

std::vector<int64_t> dims_of(const Fields& shape) { return shape.integers("dim"); }

/// One shape for all tops, or one for each.
std::vector<std::vector<int64_t>> given_shapes(const LayerContext& context, const Fields& fields) {
  std::vector<std::vector<int64_t>> shapes;
  for (const Fields* shape : fields.inners("shape")) shapes.push_back(dims_of(*shape));
  if (shapes.size() == 1) shapes.resize(context.num_tops(), shapes[0]);
  context.require(shapes.empty() || shapes.size() == context.num_tops(), "has ", shapes.size(), " shapes for ",
                  context.num_tops(), " tops");
  shapes.resize(context.num_tops());
  return shapes;
}

/// The older way: numbers, channels, heights and widths, one for all tops or one for each.
std::vector<std::vector<int64_t>> dummy_shapes(const LayerContext& context, const Fields& fields) {
  fields.ignore({"data_filler"});
  if (fields.count("shape") > 0) return given_shapes(context, fields);
  std::vector<std::vector<int64_t>> shapes(context.num_tops());
  for (const char* dimension : {"num", "channels", "height", "width"}) {
    const std::vector<int64_t> extents = fields.integers(dimension);
    context.require(extents.size() == 1 || extents.size() == shapes.size(), "has ", extents.size(), " numbers ",
                    dimension, " for ", shapes.size(), " tops");
    for (size_t i = 0; i < shapes.size(); ++i) shapes[i].push_back(extents[extents.size() == 1 ? 0 : i]);
  }
  return shapes;
}

/// Pictures, as far as what prepares them tells their size. What is not told is free.
std::vector<int64_t> picture_shape(const LayerContext& context, const std::string& message) {
  const Fields &prepare = context.fields("transform_param"), &source = context.fields(message);
  const auto size = [](const Fields& fields, const std::string& field) {
    return fields.has(field) && fields.integer(field, 0) > 0 ? fields.integer(field, 0) : kFree;
  };
  int64_t channels = kFree, height = size(source, "new_height"), width = size(source, "new_width");
  if (prepare.has("resize_param")) {
    const Fields& resize = prepare.inner("resize_param");
    height = size(resize, "height");
    width = size(resize, "width");
  }
  for (const Fields* cropping : {&source, &prepare}) {
    if (size(*cropping, "crop_size") != kFree) height = width = size(*cropping, "crop_size");
  }
  const size_t means = prepare.count("mean_value");
  if (message == "image_data_param") channels = source.flag("is_color", true) ? 3 : 1;
  if (means > 1) channels = static_cast<int64_t>(means);
  if (prepare.flag("force_color", false)) channels = 3;
  if (prepare.flag("force_gray", false)) channels = 1;
  return {kFree, channels, height, width};
}

std::vector<std::vector<int64_t>> memory_shapes(const LayerContext& context) {
  const Fields& fields = context.fields("memory_data_param");
  std::vector<std::vector<int64_t>> shapes(context.num_tops(), {kFree});
  shapes[0] = {fields.integer("batch_size", 0), fields.integer("channels", 0), fields.integer("height", 0),
               fields.integer("width", 0)};
  return shapes;
}

}  // namespace

std::vector<std::vector<int64_t>> input_shapes(const LayerContext& context) {
  context.require(context.num_tops() > 0, "has no top");
  const std::string& type = context.type();
  if (type == "Input") return given_shapes(context, context.fields("input_param"));
  if (type == "DummyData") return dummy_shapes(context, context.fields("dummy_data_param"));
  if (type == "MemoryData") return memory_shapes(context);
  std::vector<std::vector<int64_t>> shapes(context.num_tops(), {kFree});
  if (type != "HDF5Data") {
    shapes[0] = picture_shape(context, type == "ImageData" ? "image_data_param" : "data_param");
  } else {
    shapes[0].clear();
  }
  return shapes;
}

Role role_of(const std::string& type) {
  for (const char* data :
       {"Input", "Data", "ImageData", "AnnotatedData", "MemoryData", "DummyData", "HDF5Data", "WindowData"}) {
    if (type == data) return Role::kInput;
  }
  for (const char* judge : {"Accuracy", "HDF5Output", "Silence", "SoftmaxWithLoss", "SigmoidCrossEntropyLoss",
                            "EuclideanLoss", "HingeLoss", "InfogainLoss", "ContrastiveLoss", "SmoothL1Loss",
                            "MultinomialLogisticLoss", "MultiBoxLoss", "DetectionEvaluate"}) {
    if (type == judge) return Role::kLeftOut;
  }
  return find_converter(type) != nullptr ? Role::kComputes : Role::kUnknown;
}

}  // namespace thalweg::caffe

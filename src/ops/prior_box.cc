// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// prior_box(features, image): boxes that follow from extents alone, so that compiling makes them a constant.
#include <algorithm>
#include <cmath>

#include "graph/op_registry.h"
#include "ops/ids_rare.h"
#include "ops/prior_boxes.h"
#include "tensor/dtype.h"
#include "thalweg/ops/detection.h"

namespace thalweg {
namespace {

/// Of sizes and of ratios: the boxes of a place are their product.
constexpr size_t kMostEach = 256;

/// With 1 at the front, without those that are there already.
std::vector<double> all_ratios(const Attributes& attrs) {
  constexpr double kSame = 1e-6;
  std::vector<double> ratios{1.0};
  for (const double ratio : attrs.reals("aspect_ratios")) {
    const auto same = [&](double known) { return std::abs(known - ratio) < kSame; };
    if (std::any_of(ratios.begin(), ratios.end(), same)) continue;
    ratios.push_back(ratio);
    if (attrs.flag("flip")) ratios.push_back(1.0 / ratio);
  }
  return ratios;
}

struct Extent {
  double width, height;
};

/// The extents of the boxes of one place, in their order.
std::vector<Extent> extents_of(const Attributes& attrs) {
  const std::vector<double> smallest = attrs.reals("min_sizes"), largest = attrs.reals("max_sizes"),
                            ratios = all_ratios(attrs);
  std::vector<Extent> extents;
  for (size_t s = 0; s < smallest.size(); ++s) {
    extents.push_back({smallest[s], smallest[s]});
    if (!largest.empty()) {
      const double between = std::sqrt(smallest[s] * largest[s]);
      extents.push_back({between, between});
    }
    for (size_t r = 1; r < ratios.size(); ++r) {
      extents.push_back({smallest[s] * std::sqrt(ratios[r]), smallest[s] / std::sqrt(ratios[r])});
    }
  }
  return extents;
}

std::vector<TensorType> infer(const InferContext& context) {
  const Attributes& attrs = context.attrs();
  context.require_floating(0);
  context.require_rank(0, 4);
  context.require_rank(1, 4);
  const size_t sizes = attrs.reals("min_sizes").size(), variances = attrs.reals("variances").size();
  context.require(sizes > 0, "there must be at least one of min_sizes");
  context.require(std::max(sizes, attrs.reals("aspect_ratios").size()) <= kMostEach, "at most ", kMostEach,
                  " sizes and ratios are possible");
  context.require(attrs.reals("max_sizes").empty() || attrs.reals("max_sizes").size() == sizes,
                  "there must be as many max_sizes as min_sizes");
  context.require(variances == 1 || variances == 4, "there must be 1 or 4 variances");
  for (const char* positive : {"min_sizes", "max_sizes", "aspect_ratios"}) {
    for (const double value : attrs.reals(positive)) context.require(value > 0, positive, " must be above 0");
  }
  const int64_t height = context.shape(0)[2], width = context.shape(0)[3];
  const bool known = height != kFree && width != kFree;
  const auto each = static_cast<int64_t>(extents_of(attrs).size());
  return {{context.dtype(0), {1, 2, known ? height * width * each * 4 : kFree}}};
}

/// The boxes of one place, whose middle is at (x, y), as shares of the picture.
float* write_boxes(const std::vector<Extent>& extents, double x, double y, const Extent& image, bool clip, float* out) {
  for (const Extent& extent : extents) {
    const double box[] = {(x - extent.width / 2) / image.width, (y - extent.height / 2) / image.height,
                          (x + extent.width / 2) / image.width, (y + extent.height / 2) / image.height};
    for (const double edge : box) *out++ = static_cast<float>(clip ? std::clamp(edge, 0.0, 1.0) : edge);
  }
  return out;
}

/// A number that the node has, or else one that follows from the extents.
double given_or(const Attributes& attrs, const char* name, double otherwise) {
  const double given = attrs.real(name);
  return given > 0 ? given : otherwise;
}

void reference(const ReferenceCall& call) {
  const Tensor boxes = prior_boxes(call.node).to(call.out().dtype());
  std::copy_n(static_cast<const std::byte*>(boxes.raw()), boxes.num_bytes(), static_cast<std::byte*>(call.out().raw()));
}

const std::vector<AttributeDef> kAttributes{
    attr::reals("min_sizes", "extents of boxes, in elements of the picture").needed(),
    attr::reals("max_sizes", "one for each of min_sizes, or none: a square between the two is added"),
    attr::reals("aspect_ratios", "width by height of further boxes"),
    attr::flag("flip", "each ratio upside down as well", true),
    attr::flag("clip", "boxes are cut to the picture"),
    attr::reals("variances", "one for all coordinates, or four").needed(),
    attr::real("image_height", 0, "of the picture; 0: that of the input").at_least(0.0),
    attr::real("image_width", 0, "of the picture; 0: that of the input").at_least(0.0),
    attr::real("step_height", 0, "from row to row of boxes; 0: that which fills the picture").at_least(0.0),
    attr::real("step_width", 0, "from box to box; 0: that which fills the picture").at_least(0.0),
    attr::real("offset", 0.5, "where in its step a box has its middle")};

const RegisterOp kPriorBox(op::kPriorBox, 2, "Boxes around the places of a map, as shares of a picture, and variances.",
                           infer, nullptr, kAttributes, {.zero_gradient = true, .reference = reference});

}  // namespace

Tensor prior_boxes(const Node& node) {
  const Attributes& attrs = node.attrs();
  const Shape &features = node.input(0)->shape(), &picture = node.input(1)->shape();
  const bool own_image = attrs.real("image_height") > 0 && attrs.real("image_width") > 0;
  if (node.output()->shape()[2] == kFree || (!own_image && (picture[2] == kFree || picture[3] == kFree))) return {};
  const int64_t height = features[2], width = features[3];
  const Extent image = own_image ? Extent{attrs.real("image_width"), attrs.real("image_height")}
                                 : Extent{static_cast<double>(picture[3]), static_cast<double>(picture[2])};
  const double step_x = given_or(attrs, "step_width", image.width / static_cast<double>(width));
  const double step_y = given_or(attrs, "step_height", image.height / static_cast<double>(height));
  const double offset = attrs.real("offset");
  const std::vector<Extent> extents = extents_of(attrs);
  Tensor result(DType::kF32, node.output()->shape());
  auto* out = result.data<float>();
  for (int64_t row = 0; row < height; ++row) {
    for (int64_t column = 0; column < width; ++column) {
      out = write_boxes(extents, (static_cast<double>(column) + offset) * step_x,
                        (static_cast<double>(row) + offset) * step_y, image, attrs.flag("clip"), out);
    }
  }
  std::vector<double> variances = attrs.reals("variances");
  if (variances.size() == 1) variances.resize(4, variances[0]);
  for (int64_t i = 0; i < result.shape()[2]; ++i) out[i] = static_cast<float>(variances[static_cast<size_t>(i % 4)]);
  return result;
}

namespace ops {

Value* prior_box(Value* features, Value* image, const PriorBoxOptions& options, const std::string& name) {
  const Attributes attrs{{"min_sizes", options.min_sizes},
                         {"max_sizes", options.max_sizes},
                         {"aspect_ratios", options.aspect_ratios},
                         {"flip", int64_t{options.flip}},
                         {"clip", int64_t{options.clip}},
                         {"variances", options.variances},
                         {"image_height", options.image_height},
                         {"image_width", options.image_width},
                         {"step_height", options.step_height},
                         {"step_width", options.step_width},
                         {"offset", options.offset}};
  return features->graph().add(op::kPriorBox, {features, image}, attrs, name)->output();
}

}  // namespace ops
}  // namespace thalweg

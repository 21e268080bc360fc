// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// match_boxes(priors [P, 4], boxes [N, G, 4], kinds i64 [N, G]) -> i64 [N, P]
#include <algorithm>
#include <tuple>

#include "graph/op_registry.h"
#include "ops/detection_rules.h"
#include "ops/ids_rare.h"
#include "tensor/dtype.h"
#include "thalweg/ops/matching.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer(const InferContext& context) {
  context.require_floating(0);
  context.require(context.dtype(1) == context.dtype(0), "boxes must have the element type of the priors");
  context.require(context.dtype(2) == DType::kI64, "kinds must be i64");
  context.require_rank(0, 2);
  context.require_rank(1, 3);
  context.require_rank(2, 2);
  const Shape &priors = context.shape(0), &boxes = context.shape(1), &kinds = context.shape(2);
  context.require(priors[1] == 4 && boxes[2] == 4, "boxes have 4 coordinates");
  for (int d = 0; d < 2; ++d) {
    context.require(boxes[d] == kinds[d] || boxes[d] == kFree || kinds[d] == kFree, "there are kinds for ", kinds,
                    " objects, and boxes for ", boxes);
  }
  context.require(context.attrs().real("negative") <= context.attrs().real("positive"),
                  "the threshold of background must not be above that of objects");
  return {{DType::kI64, {boxes[0], priors[0]}}};
}

template <typename T>
std::vector<DetectedBox<T>> read_boxes(const T* numbers, int64_t count) {
  std::vector<DetectedBox<T>> boxes;
  for (int64_t i = 0; i < count; ++i, numbers += 4) boxes.push_back({numbers[0], numbers[1], numbers[2], numbers[3]});
  return boxes;
}

/// The share of `box` that lies inside of `region`.
template <typename T>
double inside_of(const DetectedBox<T>& box, const DetectedBox<T>& region) {
  const T width = std::min(box.right, region.right) - std::max(box.left, region.left);
  const T height = std::min(box.bottom, region.bottom) - std::max(box.top, region.top);
  return width > 0 && height > 0 ? static_cast<double>(width * height / box.area()) : 0.0;
}

/// An object of a picture, and the prior that overlaps it most among those that are free.
template <typename T>
struct Object {
  int64_t number = 0;
  DetectedBox<T> box = {};
  T overlap = {};
  size_t prior = 0;
};

template <typename T>
class Matcher {
 public:
  Matcher(const Attributes& attrs, const T* priors, int64_t count)
      : priors_(read_boxes(priors, count)),
        positive_(attrs.real("positive")),
        negative_(attrs.real("negative")),
        crowd_(attrs.real("crowd")) {}

  /// One picture.
  void run(const T* boxes, const int64_t* kinds, int64_t count, int64_t* out) const {
    const std::vector<DetectedBox<T>> all = read_boxes(boxes, count);
    std::vector<Object<T>> objects;
    std::vector<DetectedBox<T>> crowds;
    for (size_t g = 0; g < all.size(); ++g) {
      if (kinds[g] >= 0) objects.push_back({static_cast<int64_t>(g), all[g]});
      if (kinds[g] == ops::kCrowd) crowds.push_back(all[g]);
    }
    for (size_t p = 0; p < priors_.size(); ++p) out[p] = by_threshold(priors_[p], objects, crowds);
    give_best(objects, out);
  }

 private:
  int64_t by_threshold(const DetectedBox<T>& prior, const std::vector<Object<T>>& objects,
                       const std::vector<DetectedBox<T>>& crowds) const {
    double best = -1;
    int64_t number = ops::kNoObject;
    for (const Object<T>& object : objects) {
      const auto overlap = static_cast<double>(overlap_of(prior, object.box));
      if (overlap > best) std::tie(best, number) = std::pair(overlap, object.number);
    }
    if (number >= 0 && best >= positive_) return number;
    if (number >= 0 && best >= negative_) return ops::kNeutral;
    const bool crowded = crowd_ < 1 && std::any_of(crowds.begin(), crowds.end(), [&](const DetectedBox<T>& region) {
                           return inside_of(prior, region) > crowd_;
                         });
    return crowded ? ops::kNeutral : ops::kNoObject;
  }

  void find_best(Object<T>& object, const std::vector<bool>& taken) const {
    object.overlap = T{};
    for (size_t p = 0; p < priors_.size(); ++p) {
      const T overlap = taken[p] ? T{} : overlap_of(priors_[p], object.box);
      if (overlap > object.overlap) std::tie(object.overlap, object.prior) = std::pair(overlap, p);
    }
  }

  /// Best pairs first; neither side has a second pair.
  void give_best(std::vector<Object<T>> objects, int64_t* out) const {
    std::vector<bool> taken(priors_.size());
    for (Object<T>& object : objects) find_best(object, taken);
    while (!objects.empty()) {
      const auto best = std::max_element(objects.begin(), objects.end(),
                                         [](const auto& a, const auto& b) { return a.overlap < b.overlap; });
      if (!(best->overlap > 0)) return;
      const size_t prior = best->prior;
      out[prior] = best->number;
      taken[prior] = true;
      objects.erase(best);
      for (Object<T>& object : objects) {
        if (object.prior == prior) find_best(object, taken);
      }
    }
  }

  std::vector<DetectedBox<T>> priors_;
  double positive_, negative_, crowd_;
};

void reference(const ReferenceCall& call) {
  dispatch_real(call.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    const int64_t priors = call.in(0).shape()[0], objects = call.in(1).shape()[1];
    const Matcher<T> matcher(call.attrs(), call.in(0).data<T>(), priors);
    for (int64_t n = 0; n < call.out().shape()[0]; ++n) {
      matcher.run(call.in(1).data<T>() + n * objects * 4, call.in(2).data<int64_t>() + n * objects, objects,
                  call.out().data<int64_t>() + n * priors);
    }
  });
}

const std::vector<AttributeDef> kAttributes{
    attr::real("positive", 0.5, "a prior that overlaps an object at least so much is to find it").between(0.0, 1.0),
    attr::real("negative", 0.5, "one that overlaps every object less is background").between(0.0, 1.0),
    attr::real("crowd", 0.7, "one with more than this share inside a crowd is none; 1: crowds do not matter")
        .between(0.0, 1.0)};

const RegisterOp kMatchBoxes(op::kMatchBoxes, 3,
                             "Which object of its picture each prior is to find: its number, -1 for background, -2 for "
                             "none of both.",
                             infer, nullptr, kAttributes,
                             {.zero_gradient = true, .reference = reference, .data_inputs = 0});

}  // namespace

namespace ops {

Value* match_boxes(Value* priors, Value* boxes, Value* kinds, const MatchOptions& options, const std::string& name) {
  const Attributes attrs{{"positive", options.positive}, {"negative", options.negative}, {"crowd", options.crowd}};
  return priors->graph().add(op::kMatchBoxes, {priors, boxes, kinds}, attrs, name)->output();
}

}  // namespace ops
}  // namespace thalweg

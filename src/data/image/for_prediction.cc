// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "thalweg/data/transforms.h"

namespace thalweg::data {
namespace {

/// What stands in for a random transform where nothing is left to chance.
struct WithoutChance {
  std::vector<Transform>& result;

  void operator()(const RandomCrop& t) const { result.emplace_back(CenterCrop{t.height, t.width}); }

  void operator()(const RandomResizedCrop& t) const {
    constexpr double kUsualShare = 7.0 / 8.0;
    const double share = std::max(kUsualShare, std::sqrt(t.area[0]));
    const auto longer = static_cast<double>(std::max(t.height, t.width));
    result.emplace_back(ResizeShorter{std::llround(longer / share), 0, t.interpolation});
    result.emplace_back(CenterCrop{t.height, t.width});
  }

  void operator()(const HorizontalFlip& t) const { keep_if_certain(t); }
  void operator()(const VerticalFlip& t) const { keep_if_certain(t); }

  void operator()(const ColorJitter& /*random*/) const {}
  void operator()(const Lighting& /*random*/) const {}
  void operator()(const Expand& /*random*/) const {}
  void operator()(const RandomBoxCrop& /*random*/) const {}

  void operator()(const Resize& t) const { result.emplace_back(t); }
  void operator()(const ResizeShorter& t) const { result.emplace_back(t); }
  void operator()(const CenterCrop& t) const { result.emplace_back(t); }

 private:
  template <typename T>
  void keep_if_certain(const T& t) const {
    if (t.probability == 1.0) result.emplace_back(t);
  }
};

}  // namespace

Pipeline Pipeline::for_prediction() const {
  std::vector<Transform> transforms;
  for (const Transform& transform : transforms_) std::visit(WithoutChance{transforms}, transform);
  return {std::move(transforms), output_};
}

}  // namespace thalweg::data

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "ops/window.h"

#include <algorithm>

namespace thalweg {
namespace {

void check_count(const InferContext& context, const char* name, size_t rank) {
  const std::vector<int64_t> items = context.attrs().integers(name);
  context.require(items.empty() || items.size() == rank, name, " has ", items.size(), " entries for ", rank,
                  " spatial dimensions");
}

}  // namespace

int64_t Window::positions(size_t d, int64_t extent) const {
  if (extent == kFree) return kFree;
  const int64_t room = extent + begins[d] + ends[d] - reach(d);
  return room < 0 ? 0 : room / strides[d] + 1;
}

std::vector<AttributeDef> with_window(std::vector<AttributeDef> own, bool grouped) {
  std::vector<AttributeDef> all{
      attr::integers("strides", "steps of the window; 1 if there are none").between(1, kMostWindow),
      attr::integers("pads", "zeros around: all begins, then all ends, or one number for both").between(0, kMostWindow),
      attr::integers("dilations", "steps within the window; 1 if there are none").between(1, kMostWindow)};
  if (grouped) all.push_back(attr::integer("groups", 1, "of channels that do not see each other").at_least(1));
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

Window read_window(const Attributes& attrs, const std::vector<int64_t>& kernel) {
  const size_t rank = kernel.size();
  Window window;
  window.kernel = kernel;
  window.strides = attrs.integers("strides");
  window.dilations = attrs.integers("dilations");
  std::vector<int64_t> pads = attrs.integers("pads");
  if (window.strides.empty()) window.strides.assign(rank, 1);
  if (window.dilations.empty()) window.dilations.assign(rank, 1);
  if (pads.empty()) pads.assign(rank, 0);
  const auto middle = pads.begin() + static_cast<int64_t>(rank);
  window.begins.assign(pads.begin(), middle);
  window.ends = window.begins;
  if (pads.size() == 2 * rank) window.ends.assign(middle, pads.end());
  return window;
}

void check_window(const InferContext& context, size_t rank) {
  check_count(context, "strides", rank);
  check_count(context, "dilations", rank);
  const std::vector<int64_t> pads = context.attrs().integers("pads");
  context.require(pads.empty() || pads.size() == rank || pads.size() == 2 * rank, "pads has ", pads.size(),
                  " entries for ", rank, " spatial dimensions");
}

std::vector<int64_t> spatial_dims(const Shape& shape, int first) {
  return {shape.begin() + std::min(first, shape.rank()), shape.end()};
}

Shape with_spatial(int64_t a, int64_t b, const std::vector<int64_t>& spatial) {
  std::vector<int64_t> dims{a, b};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  return Shape(std::move(dims));
}

}  // namespace thalweg

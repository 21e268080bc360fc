// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "data/annotations/problems.h"
#include "thalweg/error.h"

namespace thalweg::data {

/// A segmentation that no mask can be made of.
class NoMask : public Error {
 public:
  using Error::Error;
};

/// COCO's segmentation: polygons, or {"size": [height, width], "counts": runs or their compressed text}. Polygons
/// without an area are left out, as problems; if none is left that is NoMask, as is anything else that is wrong.
vision::Segmentation segmentation_of(const nlohmann::json& json, const std::string& place, ProblemList& problems);

}  // namespace thalweg::data

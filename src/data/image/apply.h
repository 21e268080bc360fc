// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "data/random.h"
#include "thalweg/data/transforms.h"

namespace thalweg::data {

/// Changes the sample; draws from `random` only.
void apply(const Transform& transform, ImageSample& sample, Random& random);

/// The size in which images leave a transform that enter it in `before`; none if that is not fixed.
std::optional<ImageSize> size_after(const Transform& transform, std::optional<ImageSize> before);

/// Throws Error naming the transform and the parameter that makes no sense.
void check_parameters(const Transform& transform);

/// As in JSON: "random_resized_crop".
const char* name_of(const Transform& transform);

}  // namespace thalweg::data

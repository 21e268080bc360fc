// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "casters.h"
#include "thalweg/data/annotations.h"

namespace thalweg::python {

/// What thalweg.data.remote_files gave; null: paths are of this machine.
using MaybeFiles = std::shared_ptr<data::Files>;

/// thalweg.vision.Annotations: read once, to be compared with many detections.
struct LoadedAnnotations {
  data::ReadAnnotations read;
};

/// From the path of an instances file, or the dict that it holds.
LoadedAnnotations load_annotations(nb::handle given, const MaybeFiles& files, bool strict);

/// thalweg.vision.Detections.
struct LoadedDetections {
  std::vector<vision::Detection> found;
};

LoadedDetections load_detections(nb::handle given, const MaybeFiles& files);

}  // namespace thalweg::python

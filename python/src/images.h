// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <variant>

#include "casters.h"
#include "thalweg/data/files.h"
#include "thalweg/data/transforms.h"

namespace thalweg::python {

/// JSON as text, or as the dicts and lists that it stands for; None is the usual one.
data::Pipeline pipeline_from(nb::handle given);

/// A directory of this machine, or what thalweg.data.remote_files gave.
using Directory = std::variant<PathText, std::shared_ptr<data::Files>>;

}  // namespace thalweg::python

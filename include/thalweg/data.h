// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

/// Where training data comes from: sources, what is done to samples, and batches of them.

#include "thalweg/data/dataset.h"  // IWYU pragma: export
#include "thalweg/data/idx.h"      // IWYU pragma: export
#include "thalweg/data/loader.h"   // IWYU pragma: export
#include "thalweg/data/sampler.h"  // IWYU pragma: export
#include "thalweg/data/views.h"    // IWYU pragma: export

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

/// Where training data comes from: sources, what is done to samples, and batches of them.

#include "thalweg/data/cache.h"
#include "thalweg/data/dataset.h"
#include "thalweg/data/describe.h"
#include "thalweg/data/features.h"
#include "thalweg/data/files.h"
#include "thalweg/data/idx.h"
#include "thalweg/data/image.h"
#include "thalweg/data/image_folder.h"
#include "thalweg/data/loader.h"
#include "thalweg/data/metadata.h"
#include "thalweg/data/row_store.h"
#include "thalweg/data/sampler.h"
#include "thalweg/data/table_inputs.h"
#include "thalweg/data/text.h"
#include "thalweg/data/transforms.h"
#include "thalweg/data/views.h"

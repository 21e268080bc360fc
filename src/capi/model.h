// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/c_api.h"
#include "thalweg/model.h"

/// What a tw_model is, for the parts of the C interface that ask it more.
struct tw_model {
  explicit tw_model(thalweg::Model loaded) : model(std::move(loaded)) {}
  thalweg::Model model;
};

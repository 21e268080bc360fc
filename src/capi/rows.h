// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "thalweg/c_training.h"
#include "thalweg/data/row_store.h"

struct tw_rows {
  std::shared_ptr<thalweg::data::RowStore> store;
};

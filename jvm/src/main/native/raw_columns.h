// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "jni_support.h"
#include "thalweg/c_preparation.h"

namespace thalweg::jni {

/// Columns of rows as Java gives them, an array for each thing that is known of a column.
struct RawArrays {
  jobjectArray names;
  jintArray dtypes;
  jobjectArray values;
  jobjectArray offsets;
  jobjectArray missing;
};

/// Columns over the memory of direct buffers; `texts` keeps the names that they point to. Empty, with an exception
/// pending, if a buffer is smaller than `rows` need.
std::vector<tw_row_column> columns_from(JNIEnv* env, const RawArrays& arrays, jlong rows,
                                        std::vector<std::string>* texts);

}  // namespace thalweg::jni

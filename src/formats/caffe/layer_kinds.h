// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace thalweg::caffe {

class LayerContext;

enum class Role {
  kInput,     ///< reads data from somewhere
  kComputes,  ///< has a converter
  kLeftOut,   ///< a loss, or a measure of answers: what it reads are the answers
  kUnknown
};

Role role_of(const std::string& type);

/// The dimensions of each top of a layer that is an input; none where the file says nothing, kFree where it leaves one
/// open.
std::vector<std::vector<int64_t>> input_shapes(const LayerContext& context);

}  // namespace thalweg::caffe

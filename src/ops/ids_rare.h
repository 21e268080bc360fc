// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/op_id.h"

/// As ids.h, for ops that few files ask for: those files alone are compiled again when one is added.
namespace thalweg::op {

inline constexpr OpId kBitCast{"bit_cast"};
inline constexpr OpId kDet{"det"};
inline constexpr OpId kDetectionOutput{"detection_output"};
inline constexpr OpId kExpm1{"expm1"};
inline constexpr OpId kGridSample{"grid_sample"};
inline constexpr OpId kGridSampleGrad{"grid_sample_grad"};
inline constexpr OpId kGridSampleGradGrid{"grid_sample_grad_grid"};
inline constexpr OpId kHardNegatives{"hard_negatives"};
inline constexpr OpId kLog1p{"log1p"};
inline constexpr OpId kMatchBoxes{"match_boxes"};
inline constexpr OpId kMaxRoiPool{"max_roi_pool"};
inline constexpr OpId kPriorBox{"prior_box"};
inline constexpr OpId kRandomNormal{"random_normal"};
inline constexpr OpId kRandomUniform{"random_uniform"};
inline constexpr OpId kRoiAlign{"roi_align"};
inline constexpr OpId kRoiAlignGrad{"roi_align_grad"};
inline constexpr OpId kSlogdet{"slogdet"};
inline constexpr OpId kSolve{"solve"};

}  // namespace thalweg::op

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/graph.h"

/// Ops of networks that find objects with their outlines. All are made of others, so that they have gradients where
/// those have, and ONNX files have them by standard operators.
namespace thalweg::ops {

struct FastNmsOptions {
  double score_threshold = 0.05;
  double overlap_threshold = 0.5;
  /// The best of each class that are looked at.
  int64_t candidates = 200;
  /// The best of each picture that are kept.
  int64_t keep = 100;
};
/// Of each picture the best first, `keep` or as many as there can be; what is not needed has the score 0.
struct FastNms {
  Value* scores;   ///< [N, K]
  Value* classes;  ///< i64 [N, K]
  Value* boxes;    ///< i64 [N, K], their numbers among those given
};
/// Drops of each class the boxes that overlap a better one, even one that is dropped itself: all at once, by a matrix.
/// `boxes` [N, P, 4], `scores` [N, C, P] without background, both of known P and C.
FastNms fast_nms(Value* boxes, Value* scores, const FastNmsOptions& options = {});

/// Rows of `x` [N, P, M] by their numbers [N, K]: [N, K, M].
Value* rows_of(Value* x, Value* numbers);

/// sigmoid(sum of prototypes by coefficients): `prototypes` [N, M, h, w], `coefficients` [N, K, M]: [N, K, h, w].
Value* assemble_masks(Value* prototypes, Value* coefficients);
/// 0 outside of `boxes` [N, K, 4], shares of the picture, made larger by `padding` elements on every side: `masks`
/// [N, K, h, w] of known h and w.
Value* crop_masks(Value* masks, Value* boxes, double padding = 1.0);

}  // namespace thalweg::ops

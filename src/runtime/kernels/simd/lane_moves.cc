// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/lane_moves.h"

namespace thalweg::simd::TW_SIMD_NS {
namespace {

typedef uint32_t Words16 __attribute__((vector_size(64)));
typedef uint32_t Words8 __attribute__((vector_size(32)));
typedef uint16_t Halves16 __attribute__((vector_size(32)));
typedef uint16_t Halves8 __attribute__((vector_size(16)));
typedef uint8_t Bytes16 __attribute__((vector_size(16)));
typedef uint8_t Bytes8 __attribute__((vector_size(8)));

/// Picks in the form in which vectors are shuffled.
template <typename V, typename Element, int picks>
struct Shuffles {
  V lane[picks], mask[picks];
  const char* source[picks];

  Shuffles(const LaneMoves& moves, int64_t first) {
    for (int k = 0; k < picks; ++k) {
      const LanePick& pick = moves.picks[first + k];
      for (unsigned i = 0; i < sizeof(V) / sizeof(Element); ++i) {
        lane[k][i] = static_cast<Element>(pick.lane[i]);
        mask[k][i] = static_cast<Element>(pick.mask[i]);
      }
      source[k] = static_cast<const char*>(moves.sources[first + k]);
    }
  }
};

/// Adds the lanes of some picks to what `to` has, or to nothing if they are the first.
template <typename V, typename Element, int picks>
void move_some(const LaneMoves& moves, int64_t first) {
  const Shuffles<V, Element, picks> shuffles(moves, first);
  char* to = static_cast<char*>(moves.to);
  for (int64_t p = 0; p < moves.positions; ++p) {
    const int64_t at = p * static_cast<int64_t>(sizeof(V));
    V result{};
    if (first > 0) __builtin_memcpy(&result, to + at, sizeof result);
#pragma GCC unroll 4
    for (int k = 0; k < picks; ++k) {
      V block;
      __builtin_memcpy(&block, shuffles.source[k] + at, sizeof block);
      result |= __builtin_shuffle(block, shuffles.lane[k]) & shuffles.mask[k];
    }
    __builtin_memcpy(to + at, &result, sizeof result);
  }
}

template <typename V, typename Element>
void move_all(const LaneMoves& moves) {
  if (moves.num_picks == 0) __builtin_memset(moves.to, 0, static_cast<std::size_t>(moves.positions) * sizeof(V));
  int64_t first = 0;
  for (; moves.num_picks - first >= 4; first += 4) move_some<V, Element, 4>(moves, first);
  switch (moves.num_picks - first) {
    case 1: return move_some<V, Element, 1>(moves, first);
    case 2: return move_some<V, Element, 2>(moves, first);
    case 3: return move_some<V, Element, 3>(moves, first);
    default: return;
  }
}

}  // namespace

void move_lanes(const LaneMoves& moves) {
  if (moves.element_bytes == 4) {
    moves.block == 16 ? move_all<Words16, uint32_t>(moves) : move_all<Words8, uint32_t>(moves);
  } else if (moves.element_bytes == 2) {
    moves.block == 16 ? move_all<Halves16, uint16_t>(moves) : move_all<Halves8, uint16_t>(moves);
  } else {
    moves.block == 16 ? move_all<Bytes16, uint8_t>(moves) : move_all<Bytes8, uint8_t>(moves);
  }
}

}  // namespace thalweg::simd::TW_SIMD_NS

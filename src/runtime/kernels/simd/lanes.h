// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// Vectors of a fixed number of lanes that the compiler maps to whatever registers the instruction set has.
// Included only by the .cc files of this folder (see dispatch.h).

#include <cstdint>

namespace thalweg::simd::TW_SIMD_NS {

template <int lanes>
struct Lanes;

// The compiler converts only vectors whose type depends on no template parameter: hence a macro.
#define TW_DEFINE_LANES(lanes)                                                                    \
  template <>                                                                                     \
  struct Lanes<lanes> {                                                                           \
    typedef float Float __attribute__((vector_size(lanes * 4)));                                  \
    typedef int32_t Int __attribute__((vector_size(lanes * 4)));                                  \
    typedef uint32_t Word __attribute__((vector_size(lanes * 4)));                                \
    typedef uint16_t Half __attribute__((vector_size(lanes * 2)));                                \
    typedef uint8_t Byte __attribute__((vector_size(lanes)));                                     \
                                                                                                  \
    static void load(const float* from, Float& to) { __builtin_memcpy(&to, from, sizeof to); }    \
    static void load(const int32_t* from, Int& to) { __builtin_memcpy(&to, from, sizeof to); }    \
    static void load(const uint16_t* from, Float& to) {                                           \
      Half half;                                                                                  \
      __builtin_memcpy(&half, from, sizeof half);                                                 \
      const Word word = __builtin_convertvector(half, Word) << 16;                                \
      __builtin_memcpy(&to, &word, sizeof to);                                                    \
    }                                                                                             \
    static void load(const uint8_t* from, Int& to) {                                              \
      Byte bytes;                                                                                 \
      __builtin_memcpy(&bytes, from, sizeof bytes);                                               \
      /* In two steps: GCC converts by a factor of four one element at a time. */                 \
      to = __builtin_convertvector(__builtin_convertvector(bytes, Half), Int);                    \
    }                                                                                             \
    static void store(float* to, const Float& from) { __builtin_memcpy(to, &from, sizeof from); } \
    static void store(int32_t* to, const Int& from) { __builtin_memcpy(to, &from, sizeof from); } \
    /* Rounds to nearest even. */                                                                 \
    static void store(uint16_t* to, const Float& from) {                                          \
      Word word;                                                                                  \
      __builtin_memcpy(&word, &from, sizeof word);                                                \
      const Word rounded = (word + 0x7fffU + ((word >> 16) & 1U)) >> 16;                          \
      const Half half = __builtin_convertvector(rounded, Half);                                   \
      __builtin_memcpy(to, &half, sizeof half);                                                   \
    }                                                                                             \
    static void store(uint8_t* to, const Int& from) {                                             \
      const Byte bytes = __builtin_convertvector(__builtin_convertvector(from, Half), Byte);      \
      __builtin_memcpy(to, &bytes, sizeof bytes);                                                 \
    }                                                                                             \
  }
TW_DEFINE_LANES(16);
TW_DEFINE_LANES(8);
TW_DEFINE_LANES(4);
TW_DEFINE_LANES(1);
#undef TW_DEFINE_LANES

}  // namespace thalweg::simd::TW_SIMD_NS

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "ops/text_case.h"

#include <cstdint>

namespace thalweg {
namespace {

/// Letters whose other case lies a fixed distance away, or beside them.
struct CaseRange {
  uint32_t first, last;  ///< the capitals
  uint32_t distance;     ///< to the small letter; 1: capitals are the even ones, each before its small letter
};
constexpr CaseRange kRanges[] = {{'A', 'Z', 32},     {0xc0, 0xd6, 32},   {0xd8, 0xde, 32},   {0x100, 0x12f, 1},
                                 {0x14a, 0x177, 1},  {0x391, 0x3a1, 32}, {0x3a3, 0x3ab, 32}, {0x400, 0x40f, 80},
                                 {0x410, 0x42f, 32}, {0x460, 0x481, 1},  {0x48a, 0x4bf, 1},  {0x1e00, 0x1e95, 1},
                                 {0x1ea0, 0x1eff, 1}};

uint32_t with_case(uint32_t letter, bool upper) {
  for (const CaseRange& range : kRanges) {
    if (range.distance == 1) {
      if (letter >= range.first && letter <= range.last) return upper ? letter & ~1U : letter | 1U;
    } else if (upper && letter >= range.first + range.distance && letter <= range.last + range.distance) {
      return letter - range.distance;
    } else if (!upper && letter >= range.first && letter <= range.last) {
      return letter + range.distance;
    }
  }
  return letter;
}

/// All letters of the ranges have one to three bytes, and both cases equally many.
std::string in_case(const std::string& text, bool upper) {
  std::string result = text;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto follows = [&](size_t i) { return i < text.size() && (byte(i) & 0xc0U) == 0x80U; };
  for (size_t i = 0; i < text.size(); ++i) {
    const uint32_t first = byte(i);
    if (first < 0x80) {
      result[i] = static_cast<char>(with_case(first, upper));
    } else if ((first & 0xe0U) == 0xc0U && follows(i + 1)) {
      const uint32_t letter = with_case((first & 0x1fU) << 6 | (byte(i + 1) & 0x3fU), upper);
      result[i] = static_cast<char>(0xc0U | letter >> 6);
      result[i + 1] = static_cast<char>(0x80U | (letter & 0x3fU));
      i += 1;
    } else if ((first & 0xf0U) == 0xe0U && follows(i + 1) && follows(i + 2)) {
      const uint32_t letter =
          with_case((first & 0xfU) << 12 | (byte(i + 1) & 0x3fU) << 6 | (byte(i + 2) & 0x3fU), upper);
      result[i] = static_cast<char>(0xe0U | letter >> 12);
      result[i + 1] = static_cast<char>(0x80U | (letter >> 6 & 0x3fU));
      result[i + 2] = static_cast<char>(0x80U | (letter & 0x3fU));
      i += 2;
    }
  }
  return result;
}

}  // namespace

std::string lower_case(const std::string& text) { return in_case(text, false); }
std::string upper_case(const std::string& text) { return in_case(text, true); }

}  // namespace thalweg

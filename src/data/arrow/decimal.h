// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <smmintrin.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

/// Numbers out of text. In a header, as the loop over the fields of a file is to hold them.
namespace thalweg::data {

/// A number as it is written, without an exponent.
struct Decimal {
  uint64_t digits = 0;
  uint32_t point = 0;  ///< its place among 16 characters of which the last one ends the number; 16 if there is none
  bool negative = false;

  bool whole() const { return point == 16; }
};

/// So many bytes before a text that parse_decimal gets must be readable, whatever they hold.
constexpr size_t kDecimalBytes = 16;

namespace detail {

/// Shuffles that move the bytes before place p one place to the right, over what stands there; the last one, none.
constexpr auto kClosePlace = [] {
  std::array<std::array<uint8_t, kDecimalBytes>, kDecimalBytes + 1> shuffles{};
  for (size_t p = 0; p <= kDecimalBytes; ++p) {
    for (size_t i = 0; i < kDecimalBytes; ++i) {
      const size_t from = p < kDecimalBytes && i <= p ? i - 1 : i;
      shuffles[p][i] = static_cast<uint8_t>(i == 0 && p < kDecimalBytes ? 0x80 : from);
    }
  }
  return shuffles;
}();

/// From n on, a mask of the last n of 16 bytes.
constexpr auto kLastBytes = [] {
  std::array<uint8_t, 2 * kDecimalBytes> mask{};
  for (size_t i = kDecimalBytes; i < mask.size(); ++i) mask[i] = 0xFF;
  return mask;
}();

inline __m128i load(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }

/// The number that 16 digits make, each a byte from 0 to 9: neighbours are joined three times.
inline uint64_t join_digits(__m128i digits) {
  const __m128i pairs = _mm_maddubs_epi16(digits, _mm_set1_epi16(0x010A));
  const __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(0x00010064));
  const __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_set1_epi32(0x00012710));
  const auto both = static_cast<uint64_t>(_mm_cvtsi128_si64(eights));
  return (both & 0xFFFFFFFFU) * 100000000U + (both >> 32U);
}

}  // namespace detail

/// Reads a number of at most 16 characters after its sign, all at once and without a branch on what they are: their
/// lengths and signs cannot be predicted. False if it is anything else.
inline bool parse_decimal(const char* begin, const char* end, Decimal& number) {
  number.negative = *begin == '-';
  const auto count = static_cast<size_t>(end - begin) - static_cast<size_t>(number.negative);
  if (count > kDecimalBytes) return false;
  const __m128i raw = detail::load(end - kDecimalBytes);
  const __m128i inside = detail::load(detail::kLastBytes.data() + count);
  const __m128i points = _mm_and_si128(_mm_cmpeq_epi8(raw, _mm_set1_epi8('.')), inside);
  number.point =
      static_cast<uint32_t>(std::countr_zero(static_cast<uint32_t>(_mm_movemask_epi8(points)) | (1U << kDecimalBytes)));
  const __m128i digits = _mm_shuffle_epi8(_mm_and_si128(_mm_sub_epi8(raw, _mm_set1_epi8('0')), inside),
                                          detail::load(detail::kClosePlace[number.point].data()));
  number.digits = detail::join_digits(digits);
  // Anything but digits counts as more than 9: another point and the sign of an exponent too.
  const __m128i small = _mm_cmpeq_epi8(_mm_min_epu8(digits, _mm_set1_epi8(9)), digits);
  return (_mm_movemask_epi8(small) == 0xFFFF) & (count > (number.whole() ? 0U : 1U));
}

/// Correctly rounded: both parts are exact in double. The number has less than 2^53 for its digits.
inline double to_double(const Decimal& number) {
  static constexpr std::array<double, kDecimalBytes + 1> kPowers = {1e15, 1e14, 1e13, 1e12, 1e11, 1e10, 1e9, 1e8, 1e7,
                                                                    1e6,  1e5,  1e4,  1e3,  1e2,  1e1,  1e0, 1e0};
  const double magnitude = static_cast<double>(static_cast<int64_t>(number.digits)) / kPowers[number.point];
  return std::bit_cast<double>(std::bit_cast<uint64_t>(magnitude) | static_cast<uint64_t>(number.negative) << 63U);
}

/// For numbers that parse_decimal does not take, or of too many digits.
bool parse_any_double(const char* begin, const char* end, double& value);

/// Any finite number, correctly rounded; false if it is none. Words such as "nan" are not taken: they may stand for
/// what is missing.
inline bool parse_double(const char* begin, const char* end, double& value) {
  Decimal number;
  if (!parse_decimal(begin, end, number) || number.digits >= (uint64_t{1} << 53U)) {
    return parse_any_double(begin, end, value);
  }
  value = to_double(number);
  return true;
}

/// False if it is no whole number, or one of more than 16 digits.
inline bool parse_whole(const char* begin, const char* end, int64_t& value) {
  Decimal number;
  if (end - begin > 1 && begin[0] == '+' && begin[1] != '-') ++begin;
  if (!parse_decimal(begin, end, number) || !number.whole()) return false;
  value = number.negative ? -static_cast<int64_t>(number.digits) : static_cast<int64_t>(number.digits);
  return true;
}

}  // namespace thalweg::data

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Conversion of numbers of 8 bits and less.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tensor/dtype.h"
#include "thalweg/stored_types.h"

namespace thalweg::stored {
namespace {

/// A binary floating format with a sign bit, `exponent` and `mantissa` bits.
struct FloatFormat {
  DType dtype;
  int exponent, mantissa, bias;
  /// The code of the largest finite number, without sign.
  uint8_t largest;
  /// Codes of infinity and NaN, without sign; where the format has none, `kNone`.
  int infinity, nan;
  /// There is one zero, and the code of minus zero is that of NaN.
  bool one_zero;
};
constexpr int kNone = -1;

constexpr std::array<FloatFormat, 5> kFormats = {{
    {kF8E4M3FN, 4, 3, 7, 0x7e, kNone, 0x7f, false},
    {kF8E4M3FNUZ, 4, 3, 8, 0x7f, kNone, 0x80, true},
    {kF8E5M2, 5, 2, 15, 0x7b, 0x7c, 0x7e, false},
    {kF8E5M2FNUZ, 5, 2, 16, 0x7f, kNone, 0x80, true},
    {kF4E2M1, 2, 1, 1, 0x7, kNone, kNone, false},
}};

struct IntegerFormat {
  DType dtype;
  int bits;
  bool is_signed;
};
constexpr std::array<IntegerFormat, 4> kIntegers = {{{kI4, 4, true}, {kU4, 4, false}, {kI2, 2, true}, {kU2, 2, false}}};

constexpr int kPowerBias = 127;
constexpr uint8_t kPowerNan = 255;

template <typename Formats>
auto find_format(const Formats& formats, DType dtype) {
  const auto found = std::find_if(formats.begin(), formats.end(), [&](const auto& f) { return f.dtype == dtype; });
  return found != formats.end() ? &*found : nullptr;
}

uint8_t sign_bit(const FloatFormat& format) { return static_cast<uint8_t>(1U << (format.exponent + format.mantissa)); }

float decode(const FloatFormat& format, uint8_t code) {
  const uint8_t sign = sign_bit(format);
  const auto magnitude = static_cast<uint8_t>(code & (sign - 1U));
  if (format.one_zero ? code == format.nan
                      : format.nan != kNone && magnitude > std::max<int>(format.largest, format.infinity)) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  const int steps = magnitude & ((1 << format.mantissa) - 1);
  const int exponent = magnitude >> format.mantissa;
  float value = exponent == 0 ? std::ldexp(static_cast<float>(steps), 1 - format.bias - format.mantissa)
                              : std::ldexp(static_cast<float>(steps + (1 << format.mantissa)),
                                           exponent - format.bias - format.mantissa);
  if (magnitude == format.infinity) value = std::numeric_limits<float>::infinity();
  return (code & sign) != 0 ? -value : value;
}

/// To the nearest, of two the even one.
uint8_t encode(const FloatFormat& format, float value, bool saturate) {
  const auto sign = static_cast<uint8_t>(std::signbit(value) ? sign_bit(format) : 0);
  if (std::isnan(value))
    return static_cast<uint8_t>(format.nan != kNone ? format.nan | (format.one_zero ? 0 : sign) : sign);
  const float magnitude = std::fabs(value);
  // In units of the last place, which below the smallest normal number is that of its binade.
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  exponent = magnitude == 0 ? 1 - format.bias : std::max(exponent - 1, 1 - format.bias);
  const bool huge = std::isinf(value) || exponent + format.bias > (1 << format.exponent);
  const double steps =
      huge ? 0.0 : std::nearbyint(std::ldexp(static_cast<double>(magnitude), format.mantissa - exponent));
  // A mantissa that is rounded up to the next power of two carries into the exponent by itself.
  const int code = ((exponent + format.bias - 1) << format.mantissa) + static_cast<int>(steps);
  if (huge || code > format.largest) {
    const bool to_infinity = format.infinity != kNone;
    if (saturate || format.nan == kNone) return static_cast<uint8_t>(sign | format.largest);
    return static_cast<uint8_t>(to_infinity ? sign | format.infinity : format.nan | (format.one_zero ? 0 : sign));
  }
  return code == 0 && format.one_zero ? uint8_t{0} : static_cast<uint8_t>(sign | code);
}

/// Two to the power of an integer.
uint8_t encode_power(float value, const Narrowing& how) {
  if (!(value >= 0)) return kPowerNan;
  if (std::isinf(value)) return how.saturate ? kPowerNan - 1 : kPowerNan;
  int exponent = 0;
  const float part = std::frexp(value, &exponent);  // in [0.5, 1)
  const bool up = how.round_mode == "up" ? part > 0.5F : how.round_mode == "nearest" && part >= 0.75F;
  const int code = value == 0 ? 0 : exponent - 1 + kPowerBias + (up ? 1 : 0);
  if (code >= kPowerNan) return how.saturate ? kPowerNan - 1 : kPowerNan;
  return static_cast<uint8_t>(std::max(code, 0));
}

float decode_power(uint8_t code) {
  return code == kPowerNan ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0F, code - kPowerBias);
}

int decode_integer(const IntegerFormat& format, uint8_t code) {
  const int range = 1 << format.bits;
  const int value = code & (range - 1);
  return format.is_signed && value >= range / 2 ? value - range : value;
}

uint8_t* bytes_of(const Tensor& tensor) { return static_cast<uint8_t*>(tensor.raw()); }

}  // namespace

bool is_narrow(DType dtype) { return dtype >= kF8E4M3FN && dtype <= kU2; }

Tensor widened(const Tensor& narrow) {
  TW_REQUIRE(is_narrow(narrow.dtype()), "element type ", narrow.dtype(), " is not narrow");
  std::array<float, 256> values{};
  const FloatFormat* real = find_format(kFormats, narrow.dtype());
  const IntegerFormat* integer = find_format(kIntegers, narrow.dtype());
  for (size_t code = 0; code < values.size(); ++code) {
    const auto byte = static_cast<uint8_t>(code);
    values[code] = real != nullptr      ? decode(*real, byte)
                   : integer != nullptr ? static_cast<float>(decode_integer(*integer, byte))
                                        : decode_power(byte);
  }
  Tensor wide(DType::kF32, narrow.shape());
  for (int64_t i = 0; i < narrow.num_elements(); ++i) wide.data<float>()[i] = values[bytes_of(narrow)[i]];
  return wide;
}

Tensor narrowed(const Tensor& from, DType dtype, const Narrowing& how) {
  TW_REQUIRE(is_narrow(dtype), "element type ", dtype, " is not narrow");
  if (is_narrow(from.dtype())) return narrowed(widened(from), dtype, how);
  Tensor narrow(dtype, from.shape());
  uint8_t* out = bytes_of(narrow);
  if (const IntegerFormat* integer = find_format(kIntegers, dtype); integer != nullptr) {
    // What lies outside of the range keeps its lowest bits.
    const Tensor whole = from.to(DType::kI64);
    const int64_t mask = (int64_t{1} << integer->bits) - 1;
    for (int64_t i = 0; i < narrow.num_elements(); ++i) out[i] = static_cast<uint8_t>(whole.data<int64_t>()[i] & mask);
    return narrow;
  }
  const Tensor wide = from.to(DType::kF32);
  const FloatFormat* format = find_format(kFormats, dtype);
  for (int64_t i = 0; i < narrow.num_elements(); ++i) {
    const float value = wide.data<float>()[i];
    out[i] = format != nullptr ? encode(*format, value, how.saturate) : encode_power(value, how);
  }
  return narrow;
}

}  // namespace thalweg::stored

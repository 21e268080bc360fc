// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "tensor/dtype.h"

#include <array>
#include <bit>

#include "thalweg/stored_types.h"

namespace thalweg {
namespace {

struct DTypeInfo {
  DType dtype;
  const char* name;
  size_t bytes;
  bool floating;
};

/// An object has no size.
constexpr size_t kNoSize = 0;

constexpr std::array<DTypeInfo, 26> kTypes = {{
    {DType::kF32, "f32", 4, true},
    {DType::kF64, "f64", 8, true},
    {DType::kBF16, "bf16", 2, true},
    {DType::kF16, "f16", 2, true},
    {DType::kI8, "i8", 1, false},
    {DType::kU8, "u8", 1, false},
    {DType::kI32, "i32", 4, false},
    {DType::kI64, "i64", 8, false},
    {DType::kBool, "bool", 1, false},
    {DType::kI16, "i16", 2, false},
    {DType::kU16, "u16", 2, false},
    {DType::kU32, "u32", 4, false},
    {DType::kU64, "u64", 8, false},
    {stored::kF8E4M3FN, "f8e4m3fn", 1, false},
    {stored::kF8E4M3FNUZ, "f8e4m3fnuz", 1, false},
    {stored::kF8E5M2, "f8e5m2", 1, false},
    {stored::kF8E5M2FNUZ, "f8e5m2fnuz", 1, false},
    {stored::kF8E8M0, "f8e8m0", 1, false},
    {stored::kF4E2M1, "f4e2m1", 1, false},
    {stored::kI4, "i4", 1, false},
    {stored::kU4, "u4", 1, false},
    {stored::kI2, "i2", 1, false},
    {stored::kU2, "u2", 1, false},
    {stored::kText, "text", kNoSize, false},
    {stored::kSequence, "sequence", kNoSize, false},
    {stored::kNothing, "nothing", kNoSize, false},
}};

const DTypeInfo& info(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  TW_REQUIRE(index < kTypes.size(), "unknown element type ", index);
  return kTypes[index];
}

}  // namespace

size_t size_of(DType dtype) {
  const DTypeInfo& found = info(dtype);
  TW_REQUIRE(found.bytes != kNoSize, "a value of type ", found.name, " is no array of numbers");
  return found.bytes;
}
const char* name_of(DType dtype) { return info(dtype).name; }
bool is_floating(DType dtype) { return info(dtype).floating; }

DType dtype_from_name(const std::string& name) {
  for (const DTypeInfo& entry : kTypes) {
    if (name == entry.name) return entry.dtype;
  }
  std::string known;
  for (const DTypeInfo& entry : kTypes) known += std::string(" ") + entry.name;
  raise("unknown element type '", name, "'; known:", known);
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name_of(dtype); }

BF16::BF16(float value) {
  auto word = std::bit_cast<uint32_t>(value);
  if ((word & 0x7fffffffU) > 0x7f800000U) {
    bits = static_cast<uint16_t>((word >> 16) | 0x0040U);  // a NaN stays a (quiet) NaN
    return;
  }
  word += 0x7fffU + ((word >> 16) & 1U);
  bits = static_cast<uint16_t>(word >> 16);
}

BF16::operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

F16::F16(float value) {
  const auto word = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((word >> 16) & 0x8000U);
  const uint32_t magnitude = word & 0x7fffffffU;
  if (magnitude > 0x7f800000U) {
    bits = static_cast<uint16_t>(sign | 0x7e00U);
  } else if (magnitude >= 0x477ff000U) {
    bits = static_cast<uint16_t>(sign | 0x7c00U);  // rounds to or past 65520: infinity
  } else if (magnitude >= 0x38800000U) {
    const uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
    bits = static_cast<uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
  } else {
    // Below the smallest normal: adding 0.5 aligns the subnormal's unit in the last place with that of the float.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    bits = static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000U));
  }
}

F16::operator float() const {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fU;
  const uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  if (exponent == 0) {
    const float value = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -value : value;
  }
  return std::bit_cast<float>(sign | ((exponent + 112U) << 23) | (mantissa << 13));
}

}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/arrow/decimal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

namespace thalweg::data {
namespace {

/// With what may be read before a text, and something after it that belongs to none.
struct Padded {
  std::string bytes;
  const char* begin;
  const char* end;
  explicit Padded(const std::string& text) : bytes(std::string(kDecimalBytes, '7') + text + "8.9") {
    begin = bytes.data() + kDecimalBytes;
    end = begin + text.size();
  }
};

bool is_double(const std::string& text, double& value) {
  const Padded padded(text);
  return parse_double(padded.begin, padded.end, value);
}

TEST(Decimal, AgreesWithTheStandardLibrary) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; ++i) {
    const double magnitude = std::ldexp(static_cast<double>(random() >> 11U), static_cast<int>(random() % 80) - 80);
    char text[64];
    const char* const formats[] = {"%.0f", "%.3f", "%.6f", "%.12f", "%.17g", "%e", "+%.4f", ".%.0f"};
    std::snprintf(text, sizeof text, formats[random() % 8], i % 2 == 0 ? magnitude : -magnitude);
    if (std::string(text).find(".-") == 0 || std::string(text).find("+-") == 0) continue;
    double value = 0;
    ASSERT_TRUE(is_double(text, value)) << text;
    EXPECT_EQ(value, std::strtod(text, nullptr)) << text;
  }
}

TEST(Decimal, SignsAndPoints) {
  double value = 1;
  EXPECT_TRUE(is_double("-0", value));
  EXPECT_TRUE(value == 0 && std::signbit(value));
  EXPECT_TRUE(is_double("7.", value) && value == 7);
  EXPECT_TRUE(is_double("-.5", value) && value == -0.5);
  EXPECT_TRUE(is_double("9999999999999999", value) && value == 1e16) << "past 2^53";
  EXPECT_TRUE(is_double("1234567.890123456", value) && value == 1234567.890123456);
}

TEST(Decimal, WhatIsNoNumberIsNotTaken) {
  double value = 0;
  for (const char* text : {"",
                           "-",
                           "+",
                           ".",
                           "-.",
                           "1.2.3",
                           "1-2",
                           "--1",
                           "+-1",
                           "1 ",
                           " 1",
                           "1e",
                           "e5",
                           "nan",
                           "inf",
                           "0x10",
                           "1,5",
                           "/",
                           ":",
                           "12a",
                           "1e999",
                           "\xFF",
                           "1234567890123456789x"}) {
    EXPECT_FALSE(is_double(text, value)) << text;
  }
}

TEST(Decimal, WholeNumbers) {
  const auto whole = [](const std::string& text, int64_t& value) {
    const Padded padded(text);
    return parse_whole(padded.begin, padded.end, value);
  };
  int64_t value = 0;
  EXPECT_TRUE(whole("-9007199254740993", value) && value == -9007199254740993);
  EXPECT_TRUE(whole("+12", value) && value == 12);
  for (const char* text : {"1.0", "1.", "", "-", "+", "+-1", "12345678901234567"})
    EXPECT_FALSE(whole(text, value)) << text;
}

}  // namespace
}  // namespace thalweg::data

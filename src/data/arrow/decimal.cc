// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/arrow/decimal.h"

#include <charconv>

namespace thalweg::data {

bool parse_any_double(const char* begin, const char* end, double& value) {
  const bool sign = begin < end && (*begin == '+' || *begin == '-');
  const char* first = sign ? begin + 1 : begin;
  if (sign && *begin == '+') begin = first;
  if (first == end || (*first != '.' && (*first < '0' || *first > '9'))) return false;
  const auto [stop, failure] = std::from_chars(begin, end, value);
  return failure == std::errc() && stop == end;
}

}  // namespace thalweg::data

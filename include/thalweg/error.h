// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace thalweg {

/// Every failure that Thalweg reports. The text names what failed (op, node, shape, file, row, rank or host) and,
/// where there is one, the remedy. It is the only exception type that leaves the public C++ API on purpose;
/// std::bad_alloc may leave it as well.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Joins the arguments with operator<< and throws Error.
template <typename... Parts>
[[noreturn]] void raise(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw Error(text.str());
}

}  // namespace thalweg

/// Throws thalweg::Error made of the remaining arguments unless `condition` holds. Active in every build type.
#define TW_REQUIRE(condition, ...)   \
  do {                               \
    if (!(condition)) [[unlikely]]   \
      ::thalweg::raise(__VA_ARGS__); \
  } while (false)

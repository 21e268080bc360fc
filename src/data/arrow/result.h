// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/result.h>

#include <string>

#include "thalweg/error.h"

namespace thalweg::data {

/// Arrow's results as exceptions that begin with what they are about.
inline void require_ok(const arrow::Status& status, const std::string& what) {
  TW_REQUIRE(status.ok(), what, ": ", status.message());
}
template <typename T>
T value_of(arrow::Result<T> result, const std::string& what) {
  require_ok(result.status(), what);
  return std::move(result).ValueUnsafe();
}

inline constexpr const char* kNullAdvice =
    "; say what to fill nulls with (--fill, `fill` in Python, TableOptions::nulls), or leave such rows out";

/// What `call` returns; exceptions of libraries, as those of cloud stores, become Errors that begin with `what`.
template <typename Call>
auto about(const std::string& what, const Call& call) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    raise(what, ": ", error.what());
  }
}

}  // namespace thalweg::data

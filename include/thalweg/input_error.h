// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/error.h"

namespace thalweg {

/// What a caller handed over does not fit: the element type, shape, length or content of data. Apart from Error for
/// callers that tell the two apart, such as Python, where it is a ValueError.
class InputError : public Error {
 public:
  using Error::Error;
};

/// As `raise`.
template <typename... Parts>
[[noreturn]] void raise_input_error(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw InputError(text.str());
}

}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace thalweg {

/// What code outside an op's own file calls the op by. A constant of the compiler: registrations at start-up may use it
/// in any order. src/ops/ids.h has them.
struct OpId {
  const char* name;

  operator std::string() const { return name; }  // NOLINT: it stands for the name wherever one is asked for
  friend bool operator==(const std::string& op, OpId id) { return op == id.name; }
};

}  // namespace thalweg

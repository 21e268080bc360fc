// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>

#include "thalweg/comm.h"

namespace thalweg::comm {

std::string Failure::text() const {
  char after[32];
  std::snprintf(after, sizeof after, ", after %.2f s", seconds);
  return (peer >= 0 ? "rank " + std::to_string(peer) + ": " : std::string()) + what + after;
}

void Status::or_throw() const {
  if (!ok()) throw Error(failure_->text());
}

Part part_of(size_t count, int parts, int index) {
  const size_t n = static_cast<size_t>(parts);
  const size_t i = static_cast<size_t>(index);
  const size_t begin = i * (count / n) + std::min(i, count % n);
  return {begin, begin + count / n + (i < count % n ? 1 : 0)};
}

}  // namespace thalweg::comm

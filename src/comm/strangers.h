// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <string>

#include "comm/connection.h"

namespace thalweg::comm {

// Whoever listens takes connections of anybody. Until their peers have shown the secret they may cost little: their
// number and their time are limited.

/// A connection that has not said who it is after so long is closed.
inline constexpr std::chrono::seconds kIntroduction{5};

/// How many connections may be open that have not shown the secret, where so many are expected: all of those at once,
/// and as many of members that try again.
inline size_t most_strangers(size_t expected) { return std::max<size_t>(64, 2 * expected); }

/// "nothing heard for 5.01 s" once somebody has been silent for longer than allowed; empty before.
inline std::string reason_if_silent(std::chrono::duration<double> silent, std::chrono::duration<double> allowed) {
  return silent > allowed ? "nothing heard for " + std::to_string(silent.count()).substr(0, 4) + " s" : "";
}

/// Gives up the oldest connections that have not shown the secret, down to `most`. Entries are in the order in which
/// they came, and each has a `connection`.
template <typename List>
void give_up_excess(List& entries, size_t most) {
  const auto is_stranger = [](const auto& entry) {
    return !entry.connection.authenticated() && entry.connection.error().empty();
  };
  auto strangers = static_cast<size_t>(std::count_if(entries.begin(), entries.end(), is_stranger));
  for (auto entry = entries.begin(); strangers > most; ++entry) {
    if (!is_stranger(*entry)) continue;
    entry->connection.close_with("more than " + std::to_string(most) + " others have not shown the secret either");
    --strangers;
  }
}

}  // namespace thalweg::comm

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace thalweg::cli {

/// The last signal that asked this program to end and that nobody has looked at yet; 0: none.
extern std::atomic<int> caught_signal;
/// It was asked to stop for a while, as by a terminal's Ctrl-Z.
extern std::atomic<bool> caught_pause;

/// Has such signals remembered, in place of what they do otherwise.
void catch_signals();

}  // namespace thalweg::cli

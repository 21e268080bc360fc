// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

namespace thalweg {

/// Takes what a user should know although nothing failed, a line without a newline. Called from whichever thread has
/// something to say, one call at a time; must not throw.
using WarningHandler = std::function<void(const std::string& text)>;

/// Replaces the handler of this process, which at first prints "thalweg: warning: <text>" on standard error. An empty
/// one silences. Returns the one before.
WarningHandler set_warning_handler(WarningHandler handler);

}  // namespace thalweg

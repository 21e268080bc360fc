// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "thalweg/warning.h"

namespace thalweg {

/// Hands `text` to the warning handler, the first time in the life of this process that it is said.
void warn_once(const std::string& text);

}  // namespace thalweg

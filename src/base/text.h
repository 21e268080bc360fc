// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace thalweg {

/// The (at most three) candidates that differ least from `name`, joined by ", ": for messages about unknown names.
std::string nearest_names(const std::string& name, const std::vector<std::string>& candidates);

std::string join(const std::vector<std::string>& parts, const std::string& separator);

/// The text in quotes for a message: not endless, and with whatever could upset a terminal escaped.
std::string printable(const std::string& text);

/// 1536 -> "1.5 KiB".
std::string human_bytes(double bytes);

}  // namespace thalweg

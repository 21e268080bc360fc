// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "thalweg/data/files.h"

namespace thalweg::data {

/// Hands over every line that counts for TextLines, as a whole.
void read_lines(const std::string& path, const std::function<void(std::string_view line)>& use);
void read_lines(const Files& files, const std::string& path, const std::function<void(std::string_view line)>& use);

}  // namespace thalweg::data

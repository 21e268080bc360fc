// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace thalweg::cli {

/// Those that this program may use.
std::vector<int> usable_processors();

/// What each of so many workers gets: adjacent parts of nearly equal size; where there are fewer processors than
/// workers, one each, which several then share.
std::vector<std::vector<int>> deal_processors(const std::vector<int>& all, int workers);

}  // namespace thalweg::cli

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thalweg::data {

/// What a file that is one sample may hold.
inline constexpr int64_t kMostFileBytes = int64_t{1} << 30;

/// Replaces `bytes` by the whole of a file; throws Error that names the path and the system's reason, also for a
/// directory and for a file of more than `max_bytes`.
void read_file(const std::string& path, std::vector<uint8_t>& bytes, int64_t max_bytes = kMostFileBytes);

}  // namespace thalweg::data

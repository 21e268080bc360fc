// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace thalweg::cli {

/// Throws Error if a file cannot be put there: the folder is missing or lets nobody write, or the path is a folder or a
/// device. Leaves nothing behind.
void require_writable_file(const std::string& path);

/// Throws Error if a folder cannot be made there, with those above it, or takes no files. Leaves nothing behind.
void require_writable_folder(const std::string& path);

}  // namespace thalweg::cli

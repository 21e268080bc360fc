// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

namespace thalweg::cli {

/// Allows this program as many open files as the system lets it have, and gives back the limit that was, for its
/// children. Throws Error if that does not do for so many workers.
rlimit allow_open_files_for(int workers);

}  // namespace thalweg::cli

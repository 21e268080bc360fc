// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace thalweg::comm {

/// True for buffers that no cache would hold until they are used next.
bool is_large(size_t bytes);

/// Copies; if `past_caches`, without reading the target's lines first and without displacing what the caches hold.
void copy_to_memory(void* target, const void* source, size_t bytes, bool past_caches);

}  // namespace thalweg::comm

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

namespace thalweg {

/// Gives back the memory of the shared library that `address` lies in, as far as it only holds what the file does: code
/// and constants that were read while the library was loaded. What is needed again is mapped again.
void release_library_pages(const void* address);

}  // namespace thalweg

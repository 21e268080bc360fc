// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

namespace thalweg::testing {

/// Whether this program is built with the address or the thread sanitizer: speed and memory are not what they are
/// otherwise.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitized = true;
#else
constexpr bool kThreadSanitized = false;
#endif

}  // namespace thalweg::testing

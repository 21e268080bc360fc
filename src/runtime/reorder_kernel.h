// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernel.h"

namespace thalweg {

/// Copies a value from one layout into another, converting the element type on the way if it differs.
std::unique_ptr<Kernel> make_reorder_kernel(const Layout& from, const Layout& to);

}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/kernel.h"

namespace thalweg {

/// How many of `threads` the work of a node is worth; tiny ones stay with the caller. Ops whose own kernels decide that
/// from what they are about to do (elementwise, norms and the like) get all of them.
int worthwhile_threads(const Node& node, int threads);

/// The same for a change of layout.
int worthwhile_threads_of_reorder(const Layout& from, const Layout& to, int threads);

}  // namespace thalweg

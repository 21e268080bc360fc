// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "training.h"

namespace thalweg::python {

/// Membership in a group, for a trainer; null once it has been closed. The engine's class is not part of its public
/// interface; this is.
struct SchemeHandle {
  std::shared_ptr<Scheme> scheme;
};

/// Throws InputError if the handle has been closed.
std::shared_ptr<Scheme> open_scheme(const SchemeHandle& handle);

/// Warns, once, if `thalweg launch` has started this process, which has joined no group: every such process then trains
/// a model of its own.
void warn_if_launched_alone();

}  // namespace thalweg::python

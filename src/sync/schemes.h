// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sync/group_scheme.h"

namespace thalweg::sync {

// One function for each scheme, in the file of its name.
std::shared_ptr<Scheme> make_allreduce(const SchemeOptions& options, std::shared_ptr<comm::Group> group);
std::shared_ptr<Scheme> make_sharded(const SchemeOptions& options, std::shared_ptr<comm::Group> group);
std::shared_ptr<Scheme> make_ssp(const SchemeOptions& options, std::shared_ptr<comm::Group> group);
std::shared_ptr<Scheme> make_localsgd(const SchemeOptions& options, std::shared_ptr<comm::Group> group);

}  // namespace thalweg::sync

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sync/gradient_buckets.h"
#include "thalweg/comm.h"

namespace thalweg::sync {

/// Every worker ends with the rows of all, in order of rank. Rows that several have stand there several times: the
/// update adds them up in that order.
comm::Status gather_rows(comm::Communicator& communicator, SparseRows& rows);

}  // namespace thalweg::sync

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "sync/choose/measurement.h"
#include "thalweg/sync.h"

namespace thalweg::sync {

/// What a scheme is expected to take for as much progress as a batch of plain all-reduce makes.
struct Estimate {
  SchemeOptions scheme;
  double seconds = 0;
};

/// Of all that are considered, those first whose result is nearest to that of one worker.
std::vector<Estimate> estimate_schemes(const Measurements& measured);

/// The first of them that takes hardly longer than the quickest.
SchemeChoice choose_scheme(const Measurements& measured);

/// For messages between workers, and checkpoints. The second throws Error if the text is no choice of a scheme that
/// there is.
std::string to_text(const SchemeChoice& choice);
SchemeChoice choice_from(const std::string& text);

/// "localsgd with period 12", "allreduce with powersgd (rank 4)".
std::string describe(const SchemeOptions& scheme);

}  // namespace thalweg::sync

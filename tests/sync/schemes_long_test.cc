// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The whole matrix: every preset, with 2 and with 4 workers.
#include "sync/scheme_table.h"

namespace thalweg::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Presets, EveryPreset, ::testing::ValuesIn(scheme_rows()), name_of);

TEST_P(EveryPreset, DoesWhatItsPaperSaysWithFour) { row().is_faithful(4); }

TEST_P(EveryPreset, GoesOnWithoutAWorkerWheneverItIsLost) {
  for (const int workers : {2, 4}) {
    for (const int64_t lost_at : {1, 14, 15, 40}) lose_one(workers, lost_at);
  }
}

TEST_P(EveryPreset, AdmitsANewcomer) {
  for (const int workers : {2, 4}) admit_one(workers);
}

TEST_P(EveryPreset, GoesOnFromACheckpoint) {
  for (const int workers : {2, 4}) resume_one(workers);
}

}  // namespace
}  // namespace thalweg::testing

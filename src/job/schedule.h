// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/settings.h"
#include "thalweg/schedules.h"

namespace thalweg::job {

/// What the section schedule says of the learning rate of a run of so many epochs; null if it says nothing. `rate` is
/// the highest one. Throws SettingsError naming the key that is wrong.
optim::SchedulePtr read_schedule(Settings& settings, double rate, int64_t epochs);

}  // namespace thalweg::job

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "capi/guard.h"
#include "capi/result.h"
#include "job/settings.h"
#include "thalweg/c_training.h"

tw_status tw_training_settings(const char* const* assignments, size_t count, tw_result** result) {
  return thalweg::capi::guarded([&] {
    TW_REQUIRE((assignments != nullptr || count == 0) && result != nullptr,
               "the assignments or the result are a null pointer");
    std::vector<std::string> texts;
    for (size_t i = 0; i < count; ++i) {
      TW_REQUIRE(assignments[i] != nullptr, "assignment ", i, " is a null pointer");
      texts.emplace_back(assignments[i]);
    }
    *result = new tw_result{{}, thalweg::job::Settings::from_assignments(texts).to_text()};
  });
}

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <nlohmann/json.hpp>

#include "base/cgroup.h"
#include "base/cpu.h"
#include "base/threads.h"
#include "capi/guard.h"
#include "capi/result.h"
#include "thalweg/c_api.h"

namespace {

/// null in place of "no limit".
template <typename T>
nlohmann::json or_null(T value) {
  return value > 0 ? nlohmann::json(value) : nlohmann::json(nullptr);
}

}  // namespace

tw_status tw_system(tw_result** result) {
  return thalweg::capi::guarded([&] {
    TW_REQUIRE(result != nullptr, "tw_system: a null pointer");
    const thalweg::CgroupLimits limits = thalweg::cgroup_limits();
    const nlohmann::json report = {{"version", tw_version()},
                                   {"cpu", thalweg::cpu_model()},
                                   {"features", thalweg::cpu_features()},
                                   {"processors", thalweg::available_processors()},
                                   {"cgroup_processors", or_null(limits.processors)},
                                   {"cgroup_memory_bytes", or_null(limits.memory_bytes)}};
    auto made = std::make_unique<tw_result>();
    made->text = report.dump();
    *result = made.release();
  });
}

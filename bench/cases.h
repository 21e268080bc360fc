// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

namespace thalweg::bench {

/// What bench/peer/cases.py says about a case, in the form TrainingRun reads. Throws and lists the cases there are if
/// there is none of that name.
nlohmann::json find_case(const std::string& name);

}  // namespace thalweg::bench

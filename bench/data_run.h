// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

namespace thalweg::bench {

/// The steps of a data case (bench/peer/data_cases.py says what each is): reads all there is, from opening to the last
/// batch, and returns a number by which the peer can tell that the same was read. Throws Error if there is no such
/// case.
std::function<double()> data_step(const std::string& name, int threads);

/// Where bench/peer/make_data.py wrote.
std::string data_path(const std::string& name);

}  // namespace thalweg::bench

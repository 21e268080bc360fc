// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

namespace thalweg::cli {

/// Takes numbers of seconds from `least` to as many as clocks can count.
CLI::Validator seconds_of_at_least(double least);

}  // namespace thalweg::cli

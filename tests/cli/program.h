// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/process.h"
#include "support/source_dir.h"

namespace thalweg::testing {

/// Runs the program `thalweg` as a process of its own.
inline ProcessResult run_program(const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& environment = {}) {
  return run_process(TW_PROGRAM, arguments, environment);
}

/// What a run wrote, which must be JSON.
inline nlohmann::json json_of(const ProcessResult& run) {
  EXPECT_EQ(run.exit_code, 0) << run.error;
  return nlohmann::json::parse(run.out);
}

/// A model of tests/golden/onnx.
inline std::string golden_model(const std::string& name) {
  return TW_SOURCE_DIR "/tests/golden/onnx/" + name + ".onnx";
}

}  // namespace thalweg::testing

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/seconds_option.h"

#include <cstdio>

namespace thalweg::cli {
namespace {

/// As the job file takes them; what is longer is not what clocks can count.
constexpr double kMostSeconds = 1e8;

}  // namespace

CLI::Validator seconds_of_at_least(double least) {
  return {[least](const std::string& text) -> std::string {
            double seconds = 0;
            const bool is_number = CLI::detail::lexical_cast(text, seconds);
            // NaN is neither.
            if (is_number && seconds >= least && seconds <= kMostSeconds) return "";
            char message[80];
            std::snprintf(message, sizeof message, "must be %g to %.0f seconds", least, kMostSeconds);
            return message;
          },
          "SECONDS"};
}

}  // namespace thalweg::cli

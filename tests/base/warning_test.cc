// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/warning.h"

#include <gtest/gtest.h>

#include <vector>

namespace thalweg::testing {
namespace {

TEST(Warning, IsSaidOnceToTheHandlerInPlace) {
  std::vector<std::string> heard;
  WarningHandler before = set_warning_handler([&](const std::string& text) { heard.push_back(text); });
  warn_once("the first");
  warn_once("the second");
  warn_once("the first");
  EXPECT_EQ(heard, (std::vector<std::string>{"the first", "the second"}));
  set_warning_handler(nullptr);
  warn_once("the third");
  EXPECT_EQ(heard.size(), 2U);
  set_warning_handler(std::move(before));
}

}  // namespace
}  // namespace thalweg::testing

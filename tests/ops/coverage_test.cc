// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/op_coverage.h"

namespace thalweg::testing {
namespace {

/// Looks, after all tests of this program, for what none of them has checked.
class Completeness : public ::testing::Environment {
 public:
  void TearDown() override {
    // Of some of the tests nothing follows.
    if (::testing::UnitTest::GetInstance()->test_to_run_count() !=
        ::testing::UnitTest::GetInstance()->total_test_count())
      return;
    EXPECT_THAT(OpCoverage::instance().missing_gradients(), ::testing::IsEmpty())
        << "These ops have a gradient rule that no test compares with central differences (check_gradients).";
    EXPECT_THAT(OpCoverage::instance().missing_comparisons(), ::testing::IsEmpty())
        << "These kernels and shapes are compared with no reference kernel (check_fast_path, check_layouts).";
  }
};

const auto* const completeness = ::testing::AddGlobalTestEnvironment(new Completeness);

}  // namespace
}  // namespace thalweg::testing

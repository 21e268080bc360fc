// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.h"
#include "thalweg/zoo.h"

namespace thalweg::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Models, AreAllListedWithTheirOptions) {
  const auto report = json_of(run_program({"models", "--json"}));
  std::vector<std::string> names;
  for (const auto& model : report["models"]) {
    names.push_back(model["name"]);
    EXPECT_FALSE(model["options"].empty()) << model;
    EXPECT_FALSE(model.contains("parameters")) << "which would build all of them";
  }
  EXPECT_EQ(names, zoo::names());
}

TEST(Models, OneTellsItsSize) {
  const ProcessResult one = run_program({"models", "lenet"});
  EXPECT_EQ(one.exit_code, 0) << one.error;
  EXPECT_THAT(one.out, AllOf(HasSubstr("lenet: classes = 10, seed = 0"), HasSubstr("1, 28, 28]"),
                             HasSubstr("gives output f32[?, 10]"), HasSubstr("parameters")));
  const ProcessResult unknown = run_program({"models", "lenett"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.error, HasSubstr("there is no model \"lenett\"; near: lenet"));
}

/// Each option is taken by `build` under its name.
TEST(Models, OptionsAreThoseThatBuildTakes) {
  for (const zoo::OptionInfo& option : zoo::options("ncf")) {
    if (option.name == "sparse" || option.name == "mlp_layers") continue;
    EXPECT_NO_THROW(zoo::build("ncf", {{option.name, int64_t{8}}, {"mlp_layers", std::vector<int64_t>{8, 4}}}))
        << option.name << " " << option.usual;
  }
  EXPECT_THROW(zoo::options("nothing"), Error);
}

}  // namespace
}  // namespace thalweg::testing

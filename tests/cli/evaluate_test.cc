// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/program.h"
#include "support/temporary_directory.h"

namespace thalweg::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// The files of a golden set.
class Evaluate : public ::testing::Test {
 protected:
  Evaluate() : set_(json::parse(read_bytes(TW_SOURCE_DIR "/tests/golden/coco/small.json"))) {
    write_bytes(directory_ / "instances.json", set_["instances"].dump());
    write_bytes(directory_ / "results.json", set_["results"].dump());
  }
  ProcessResult evaluate(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"evaluate", directory_ / "instances.json", "--detections",
                                          directory_ / "results.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }

  const TemporaryDirectory directory_;
  json set_;
};

TEST_F(Evaluate, PrintsTheTwelveNumbers) {
  const json report = json_of(evaluate({"--json", "--measures", "box,mask,boundary", "--by-category"}));
  EXPECT_EQ(report["pictures"], 10);
  ASSERT_EQ(report["measures"].size(), 3U);
  const std::vector<std::string> names = {"AP",  "AP50", "AP75",  "APs", "APm", "APl",
                                          "AR1", "AR10", "AR100", "ARs", "ARm", "ARl"};
  for (size_t kind = 0; kind < 3; ++kind) {
    const std::vector<double> expected = set_["expected"][std::vector<std::string>{"box", "mask", "boundary"}[kind]];
    for (size_t i = 0; i < names.size(); ++i) {
      const json& value = report["measures"][kind][names[i]];
      EXPECT_NEAR(value.is_null() ? -1.0 : value.get<double>(), expected[i], 1e-9) << kind << names[i];
    }
    EXPECT_EQ(report["measures"][kind]["by_category"].size(), 4U);
  }
  EXPECT_EQ(report["measures"][2]["name"], "boundary 0.02");
}

TEST_F(Evaluate, ShowsBoxesAndMasksAsATable) {
  const ProcessResult run = evaluate({});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.out, HasSubstr("10 pictures, 36 objects, 4 categories; 100 detections"));
  EXPECT_THAT(run.out, HasSubstr("AR100"));
  EXPECT_THAT(run.out, HasSubstr("\nbox "));
  EXPECT_THAT(run.out, HasSubstr("\nmask "));
}

TEST_F(Evaluate, BadAnnotationsAreCountedOrFail) {
  set_["instances"]["annotations"][0]["category_id"] = 4711;
  set_["instances"]["annotations"][1]["segmentation"] = json::array();
  write_bytes(directory_ / "instances.json", set_["instances"].dump());
  const json report = json_of(evaluate({"--json", "--measures", "mask"}));
  EXPECT_EQ(report["objects"], 35);
  EXPECT_EQ(report["problems"]["unknown category"], 1);
  EXPECT_EQ(report["problems"]["mask that cannot be used"], 1);
  EXPECT_THAT(report["notes"].dump(), HasSubstr("1 objects without a mask do not count"));
  const ProcessResult strict = evaluate({"--strict"});
  EXPECT_EQ(strict.exit_code, 1);
  EXPECT_THAT(strict.error, HasSubstr("instances.json: annotations["));
}

TEST_F(Evaluate, FilesAtAnAddressAreReadToo) {
  const ProcessResult run = run_program({"evaluate", "file://" + (directory_ / "instances.json"), "--detections",
                                         "file://" + (directory_ / "results.json"), "--json"});
  EXPECT_EQ(json_of(run)["measures"].size(), 2U);
}

TEST_F(Evaluate, VocFoldersAreScoredByTheirOwnRules) {
  std::filesystem::create_directories(directory_ / "voc/Annotations");
  std::filesystem::create_directories(directory_ / "voc/ImageSets/Main");
  write_bytes(directory_ / "voc/Annotations/000007.xml",
              "<annotation><filename>000007.jpg</filename><size><width>50</width><height>40</height></size>"
              "<object><name>fork</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>20</xmax><ymax>10</ymax></bndbox>"
              "</object></annotation>");
  write_bytes(directory_ / "voc/ImageSets/Main/val.txt", "000007\n");
  write_bytes(directory_ / "results.json",
              R"([{"image_id": 7, "category_id": 1, "score": 0.5, "bbox": [0, 0, 20, 10]}])");
  const auto voc = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"evaluate",   directory_ / "voc", "--detections", directory_ / "results.json",
                                          "--measures", "voc,voc07,box"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  };
  const json report = json_of(voc({"--list", "ImageSets/Main/val.txt", "--by-category", "--json"}));
  EXPECT_EQ(report["measures"][0]["mAP"], 1);
  EXPECT_EQ(report["measures"][1]["mAP"], 1);
  EXPECT_NEAR(report["measures"][2]["AP"].get<double>(), 1, 1e-9);
  EXPECT_EQ(report["measures"][0]["by_category"][0]["name"], "fork");
  EXPECT_THAT(voc({}).out, HasSubstr("voc07 mAP 1.0000"));
}

TEST_F(Evaluate, WhatMakesNoSenseIsWrongUsage) {
  EXPECT_EQ(evaluate({"--measures", "boxes"}).exit_code, 2);
  EXPECT_EQ(evaluate({"--list", "val.txt"}).exit_code, 2);
  EXPECT_EQ(run_program({"evaluate", directory_ / "instances.json"}).exit_code, 2);
  EXPECT_EQ(evaluate({"--dilation-ratios", "2"}).exit_code, 2);
}

}  // namespace
}  // namespace thalweg::testing

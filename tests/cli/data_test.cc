// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.h"
#include "support/bad_images.h"
#include "support/temporary_directory.h"
#include "thalweg/npy.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;

TEST(Data, AFolderOfImages) {
  const TemporaryDirectory directory;
  std::filesystem::create_directories(directory.path() / "cats");
  std::filesystem::create_directories(directory.path() / "dogs");
  std::filesystem::copy(image_path("photo.jpg"), directory.path() / "cats/a.jpg");
  std::filesystem::copy(image_path("photo.png"), directory.path() / "dogs/b.png");
  write_bytes(directory / "dogs/bad.png", "no image");
  const ProcessResult run = run_program({"data", directory.path().string(), "--json"});
  const auto report = json_of(run);
  EXPECT_EQ(report["kind"], "images");
  EXPECT_EQ(report["images"], 3);
  EXPECT_EQ(report["classes"]["dogs"], 2);
  ASSERT_EQ(report["bad"].size(), 1U);
  EXPECT_THAT(report["bad"][0].get<std::string>(), HasSubstr("bad.png"));
  EXPECT_EQ(run.error, "");
  const ProcessResult text = run_program({"data", directory.path().string(), "--progress"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, HasSubstr("1 bad files"));
}

TEST(Data, OddAndBadImages) {
  const TemporaryDirectory directory;
  write_odd_images(directory.path() / "photos");
  const auto report = json_of(run_program({"data", directory.path().string(), "--json"}));
  EXPECT_EQ(report["images"], kOddButGoodImages + kBadImages);
  ASSERT_EQ(report["bad"].size(), static_cast<size_t>(kBadImages));
  for (const auto& bad : report["bad"]) EXPECT_THAT(bad.get<std::string>(), HasSubstr(directory / "photos/bad_"));
  // Each of them by itself.
  for (const auto& file : std::filesystem::directory_iterator(directory.path() / "photos")) {
    const ProcessResult run = run_program({"data", file.path().string()});
    const bool good = file.path().filename().string().rfind("good", 0) == 0;
    EXPECT_EQ(run.exit_code, good ? 0 : 1) << file.path();
    const std::string expected = good ? "" : file.path().string() + ": ";
    EXPECT_THAT(run.error, HasSubstr(expected));
  }
  const ProcessResult limited = run_program({"data", image_path("photo.jpg"), "--max-pixels", "100"});
  EXPECT_EQ(limited.exit_code, 1);
  EXPECT_THAT(limited.error, HasSubstr("61 x 47 pixels are more than the limit of 100"));
}

TEST(Data, RaggedRowsAreNamed) {
  const TemporaryDirectory directory;
  write_bytes(directory / "ragged.csv", "x,y\n1,2\n3\n5,6,7\n");
  const ProcessResult run = run_program({"data", directory / "ragged.csv"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.error, HasSubstr(directory / "ragged.csv"));
  EXPECT_THAT(run.error, HasSubstr("Expected 2 columns, got 1"));
}

TEST(Data, ATable) {
  const TemporaryDirectory directory;
  write_bytes(directory / "table.csv", "name,age\nann,30\nbob,\nann,50\n");
  const auto report = json_of(run_program({"data", directory / "table.csv", "--json"}));
  EXPECT_EQ(report["rows"], 3);
  EXPECT_EQ(report["columns"][0]["distinct"], 2);
  EXPECT_FALSE(report["columns"][0].contains("mean"));
  EXPECT_EQ(report["columns"][1]["nulls"], 1);
  EXPECT_EQ(report["columns"][1]["mean"], 40);
  EXPECT_EQ(report["columns"][1]["std"], 10);
  EXPECT_THAT(run_program({"data", directory / "table.csv"}).out, HasSubstr("3 rows in 1 files"));
}

TEST(Data, ATableWhoseFirstLineIsDataIsToldOf) {
  const TemporaryDirectory directory;
  write_bytes(directory / "rows.tsv", "1.5\t2\ta\n2.5\t3\tb\n");
  EXPECT_THAT(run_program({"data", directory / "rows.tsv"}).out, HasSubstr("holds numbers: write a line of names"));
  EXPECT_TRUE(json_of(run_program({"data", directory / "rows.tsv", "--json"}))["lacks_names"].get<bool>());
  write_bytes(directory / "named.csv", "x1,2nd,v\n1.5,2,a\n");
  EXPECT_FALSE(json_of(run_program({"data", directory / "named.csv", "--json"}))["lacks_names"].get<bool>());
}

TEST(Data, AFolderOfFoldersOfTables) {
  const TemporaryDirectory directory;
  for (const char* part : {"year=2020", "year=2021"}) {
    std::filesystem::create_directories(directory.path() / part);
    write_bytes(directory / part + "/part-0.csv", "age\n30\n");
  }
  const auto report = json_of(run_program({"data", directory.path().string(), "--json"}));
  EXPECT_EQ(report["kind"], "table");
  EXPECT_EQ(report["rows"], 2);
  std::filesystem::create_directories(directory.path() / "empty");
  const ProcessResult empty = run_program({"data", directory / "empty"});
  EXPECT_EQ(empty.exit_code, 1);
  EXPECT_THAT(empty.error, HasSubstr("empty: holds neither images nor tables"));
}

TEST(Data, ImagesAtAnAddress) {
  const TemporaryDirectory directory;
  std::filesystem::create_directories(directory.path() / "cats");
  std::filesystem::copy(image_path("photo.jpg"), directory.path() / "cats/a.jpg");
  write_bytes(directory / "cats/bad.png", "no image");
  write_bytes(directory / "about.csv", "who,when\nme,now\n");
  const auto report = json_of(run_program({"data", "file://" + directory.path().string(), "--json"}));
  EXPECT_EQ(report["kind"], "images");
  EXPECT_EQ(report["images"], 2);
  EXPECT_THAT(report["bad"].at(0).get<std::string>(), HasSubstr("cats/bad.png: "));
  EXPECT_EQ(json_of(run_program({"data", "file://" + directory / "cats/a.jpg", "--json"}))["format"], "JPEG");
}

TEST(Data, TextFiles) {
  const TemporaryDirectory directory;
  write_bytes(directory / "reviews.txt", "good\tFine film\n\nbad\tno\n");
  std::filesystem::copy(directory / "reviews.txt", directory / "reviews.tsv");
  const auto report = json_of(run_program({"data", directory / "reviews.txt", "--json"}));
  EXPECT_EQ(report["kind"], "text");
  EXPECT_EQ(report["lines"], 2);
  EXPECT_EQ(report["classes"]["good"], 1);
  EXPECT_EQ(report["longest"], 2);
  EXPECT_EQ(json_of(run_program({"data", "file://" + directory / "reviews.txt", "--json"})), report);
  EXPECT_EQ(json_of(run_program({"data", directory / "reviews.tsv", "--text", "--json"})), report);
  EXPECT_THAT(run_program({"data", directory / "reviews.txt", "--progress"}).out, HasSubstr("2 lines"));
}

TEST(Data, ArraysAndSingleImages) {
  const TemporaryDirectory directory;
  npy::write_archive(directory / "x.npz", {{"x", Tensor::from<float>({2, 2}, {1, 2, 3, 6})}});
  const auto arrays = json_of(run_program({"data", directory / "x.npz", "--json"}));
  EXPECT_EQ(arrays["arrays"][0]["shape"], (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(arrays["arrays"][0]["mean"], 3);
  EXPECT_THAT(run_program({"data", image_path("photo.gif")}).out, HasSubstr("width"));
}

TEST(Data, WhatCannotBeReadFails) {
  const TemporaryDirectory directory;
  for (const char* name : {"nowhere", "nothing.csv", "nothing.npy", "nothing.jpg", "nothing.txt"}) {
    const ProcessResult run = run_program({"data", directory / name});
    EXPECT_EQ(run.exit_code, 1) << name;
    EXPECT_THAT(run.error, HasSubstr(name));
  }
}

}  // namespace
}  // namespace thalweg::testing

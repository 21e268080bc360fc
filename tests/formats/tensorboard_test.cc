// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensorboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "formats/event_encoding.h"
#include "support/error_text.h"
#include "support/file_size_limit.h"
#include "support/temporary_directory.h"

namespace thalweg::formats {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;
using thalweg::testing::error_text;
using thalweg::testing::FileSizeLimit;
using thalweg::testing::read_bytes;
using thalweg::testing::TemporaryDirectory;
using thalweg::testing::write_bytes;

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

/// The data of the records in a file; fails the test if a length or checksum is wrong.
std::vector<std::string> records_of(const std::string& bytes) {
  std::vector<std::string> records;
  size_t at = 0;
  while (at < bytes.size()) {
    uint64_t length = 0;
    EXPECT_LE(at + 16, bytes.size());
    std::memcpy(&length, bytes.data() + at, 8);
    const std::string data = bytes.substr(at + 12, length);
    EXPECT_EQ(bytes.substr(at, length + 16), tfrecord(data));
    if (::testing::Test::HasFailure()) break;
    records.push_back(data);
    at += length + 16;
  }
  return records;
}

TEST(TensorBoard, Crc32cKnownValues) {
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
}

// The hexadecimal texts below come from the writers of TensorFlow's format in PyPI's tensorboard.

TEST(TensorBoard, RecordsAreFramed) {
  EXPECT_EQ(tfrecord("hello"), from_hex("0500000000000000eab2043e68656c6c6fbb1f1c19"));
}

TEST(TensorBoard, VersionEvent) {
  EXPECT_EQ(version_event(1.5), from_hex("09000000000000f83f1a0d627261696e2e4576656e743a32"));
}

TEST(TensorBoard, ScalarEvent) {
  EXPECT_EQ(scalar_event(1.5, 300, "train/loss", 0.25f),
            from_hex("09000000000000f83f10ac022a130a110a0a747261696e2f6c6f7373150000803e"));
}

TEST(TensorBoard, TextEvent) {
  EXPECT_EQ(text_event(1.5, 2, "note", "*hi*"),
            from_hex("09000000000000f83f10022a240a220a046e6f7465420e080712041202080142042a68692a4a0a0a"
                     "060a04746578742002"));
}

TEST(TensorBoard, HistogramEvent) {
  const Histogram histogram{-1.0, 2.0, 3.0, 1.5, 5.25, {0.0, 2.5}, {1.0, 2.0}};
  EXPECT_EQ(histogram_event(1.5, 7, "w", histogram),
            from_hex("09000000000000f83f10072a580a560a01772a5109000000000000f0bf1100000000000000401900"
                     "0000000000084021000000000000f83f290000000000001540321000000000000000000000000000"
                     "0004403a10000000000000f03f0000000000000040"));
}

TEST(TensorBoard, HistogramCountsEveryFiniteValue) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Histogram histogram = make_histogram(
      std::vector<float>{0.0f, 1.0f, -1.0f, 1.0f, 3e38f, -3e38f, 1e-30f, std::nanf(""), infinity, -infinity});
  EXPECT_EQ(histogram.count, 7.0);
  EXPECT_EQ(histogram.min, -3e38f);
  EXPECT_EQ(histogram.max, 3e38f);
  EXPECT_EQ(std::accumulate(histogram.counts.begin(), histogram.counts.end(), 0.0), 7.0);
  EXPECT_EQ(histogram.limits.size(), histogram.counts.size());
  EXPECT_GT(histogram.counts.front(), 0.0);
  EXPECT_GT(histogram.counts.back(), 0.0);
}

TEST(TensorBoard, HistogramBucketsHoldTheirValues) {
  const std::vector<float> values = {-2.0f, 0.5f, 0.5f, 4.0f};
  const Histogram histogram = make_histogram(values);
  for (size_t i = 1; i < histogram.limits.size(); ++i) {
    double expected = 0.0;
    for (const float value : values) {
      if (value < histogram.limits[i] && value >= histogram.limits[i - 1]) expected += 1.0;
    }
    ASSERT_EQ(histogram.counts[i], expected) << i;
  }
  EXPECT_EQ(histogram.sum, 3.0);
  EXPECT_EQ(histogram.sum_squares, 20.5);
}

TEST(TensorBoard, HistogramOfNothingHasOneEmptyBucket) {
  EXPECT_THAT(make_histogram({}).counts, ElementsAre(0.0));
  EXPECT_THAT(make_histogram({}).limits, SizeIs(1));
}

TEST(TensorBoard, WriterMakesAFileThatCanBeReadBack) {
  const TemporaryDirectory directory;
  std::string path;
  {
    EventWriter writer(directory / "runs/one", ".validation");
    path = writer.path();
    EXPECT_THAT(records_of(read_bytes(path)), SizeIs(1)) << "the version comes at once";
    writer.add_scalar("loss", 0.5, 1);
    writer.add_text("note", "hello", 1);
    writer.add_histogram("weights", std::vector<float>{1.0f, 2.0f}, 1);
    EventWriter moved = std::move(writer);
    moved.add_scalar("loss", 0.25, 2);
  }
  EXPECT_THAT(std::filesystem::path(path).filename().string(),
              AllOf(StartsWith("events.out.tfevents."), HasSubstr(".validation")));
  const std::vector<std::string> records = records_of(read_bytes(path));
  ASSERT_THAT(records, SizeIs(5));
  EXPECT_THAT(records[0], HasSubstr("brain.Event:2"));
  EXPECT_THAT(records[2], HasSubstr("hello"));
  double wall_time = 0.0;
  std::memcpy(&wall_time, records[4].data() + 1, sizeof wall_time);
  EXPECT_NEAR(wall_time, static_cast<double>(std::time(nullptr)), 60.0);
}

TEST(TensorBoard, TwoWritersDoNotShareAFile) {
  const TemporaryDirectory directory;
  const EventWriter one(directory.path().string());
  const EventWriter two(directory.path().string());
  EXPECT_NE(one.path(), two.path());
}

TEST(TensorBoard, FullDiskIsReportedAndLeavesWholeRecords) {
  const TemporaryDirectory directory;
  EventWriter writer(directory.path().string());
  std::string message;
  {
    const FileSizeLimit limit(2000);
    message = error_text([&] {
      for (int i = 0; i < 100; ++i) writer.add_scalar("loss", i, i);
      writer.flush();
    });
  }
  EXPECT_THAT(message, AllOf(HasSubstr(writer.path()), HasSubstr("File too large")));
  EXPECT_THAT(records_of(read_bytes(writer.path())), SizeIs(1));
  writer.add_scalar("loss", 1.0, 1);
  writer.flush();
  EXPECT_THAT(records_of(read_bytes(writer.path())), SizeIs(2));
}

TEST(TensorBoard, DirectoryThatCannotBeIsNamed) {
  const TemporaryDirectory directory;
  write_bytes(directory / "file", "");
  EXPECT_THAT(error_text([&] { EventWriter(directory / "file"); }), HasSubstr(directory / "file"));
}

}  // namespace
}  // namespace thalweg::formats

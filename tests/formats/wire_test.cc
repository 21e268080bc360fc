// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/error_text.h"

namespace thalweg::formats {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using thalweg::testing::error_text;

const std::string kWhere = "bad.onnx";

std::string bytes_of(const WireWriter& writer) {
  std::string bytes;
  writer.emit([&](std::string_view piece) { bytes += piece; });
  EXPECT_EQ(bytes.size(), writer.size());
  return bytes;
}

TEST(Wire, ReadsWhatItWrote) {
  WireWriter inner;
  inner.integer(1, -5);
  inner.integer(15, std::numeric_limits<int64_t>::max());
  WireWriter writer;
  writer.bytes(2000, "text");
  writer.single(3, 1.5F);
  writer.packed(4, std::vector<int64_t>{0, -1, 300});
  writer.packed(5, std::vector<float>{2.0F, -3.0F});
  writer.message(6, inner);
  const std::string large(1000, 'x');
  writer.borrowed(7, large);
  const std::string bytes = bytes_of(writer);

  WireReader reader(bytes, kWhere);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.field(), 2000U);
  EXPECT_EQ(reader.text(), "text");
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.single(), 1.5F);
  ASSERT_TRUE(reader.next());
  std::vector<int64_t> integers;
  reader.append(integers);
  EXPECT_THAT(integers, ElementsAre(0, -1, 300));
  ASSERT_TRUE(reader.next());
  std::vector<float> floats;
  reader.append(floats);
  EXPECT_THAT(floats, ElementsAre(2.0F, -3.0F));
  ASSERT_TRUE(reader.next());
  WireReader nested = reader.message();
  ASSERT_TRUE(nested.next());
  EXPECT_EQ(nested.integer(), -5);
  ASSERT_TRUE(nested.next());
  EXPECT_EQ(nested.integer(), std::numeric_limits<int64_t>::max());
  EXPECT_FALSE(nested.next());
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.bytes(), large);
  EXPECT_FALSE(reader.next());
}

TEST(Wire, SkipsFieldsThatNobodyReads) {
  WireWriter writer;
  writer.single(1, 1.0F);
  writer.integer(2, 1);
  writer.bytes(3, "unknown");
  writer.integer(4, 7);
  const std::string bytes = bytes_of(writer);
  WireReader reader(bytes, kWhere);
  int64_t seven = 0;
  while (reader.next()) {
    if (reader.field() == 4) seven = reader.integer();
  }
  EXPECT_EQ(seven, 7);
}

std::string message(const std::string& bytes) {
  return error_text([&] {
    WireReader reader(bytes, kWhere);
    while (reader.next()) {
    }
  });
}

TEST(Wire, BytesThatDoNotFitAreErrors) {
  EXPECT_THAT(message("\x08"), AllOf(HasSubstr("bad.onnx"), HasSubstr("truncated at byte 1")));
  EXPECT_THAT(message("\x12\x05"
                      "abc"),
              HasSubstr("5 bytes are announced"));
  EXPECT_THAT(message("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), HasSubstr("truncated"));
  EXPECT_THAT(message("\x08" + std::string(11, '\xff')), HasSubstr("longer than the format allows"));
  EXPECT_THAT(message("\x0b"), HasSubstr("unknown encoding 3"));
  EXPECT_THAT(message(std::string("\0\0", 2)), HasSubstr("bad field number"));
}

TEST(Wire, AFieldOfAnotherEncodingIsAnError) {
  WireWriter writer;
  writer.integer(1, 5);
  const std::string bytes = bytes_of(writer);
  WireReader reader(bytes, kWhere);
  reader.next();
  EXPECT_THAT(error_text([&] { static_cast<void>(reader.bytes()); }), HasSubstr("field 1 has another encoding"));
}

}  // namespace
}  // namespace thalweg::formats

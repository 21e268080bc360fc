// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/caffe/text_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/caffe/fields.h"
#include "support/error_text.h"

namespace thalweg::caffe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using thalweg::testing::error_text;

const std::string kWhere = "net.prototxt";

Message parse(const std::string& text) { return parse_text_message(text, kWhere); }
std::string failure(const std::string& text) {
  return error_text([&] { parse(text); });
}

TEST(CaffeText, ReadsEveryWayToWriteAField) {
  const Message message = parse(
      "name: \"a\" 'b' \"\\x41\\102\\n\\\"\"  # a comment\n"
      "inner { x: 1; y: -2.5f, }\nother: < z: TRUE >\nlist: [1, 2 , 3]\nmessages: [{ a: 1 }, { a: 2 }]\nempty: []");
  EXPECT_EQ(message.find("name")->text, "abAB\n\"");
  EXPECT_TRUE(message.find("name")->quoted);
  EXPECT_EQ(message.find("inner")->message->find("y")->text, "-2.5f");
  EXPECT_EQ(message.find("inner")->line, 2);
  EXPECT_EQ(message.find("other")->message->find("z")->text, "TRUE");
  EXPECT_EQ(message.all("list").size(), 3U);
  EXPECT_EQ(message.all("messages")[1]->message->find("a")->text, "2");
  EXPECT_EQ(message.find("empty"), nullptr);
}

TEST(CaffeText, NamesTheLineOfWhatIsWrong) {
  EXPECT_THAT(failure("a: 1\nb {\n  c: 2\n"), HasSubstr("net.prototxt:4: the file ends inside of the message that "
                                                        "begins in line 2: is it cut short?"));
  EXPECT_THAT(failure("a: 1\nb"), HasSubstr("net.prototxt:2: expected ':' or '{' after \"b\""));
  EXPECT_THAT(failure("a:"), HasSubstr("the file ends where a value should stand"));
  EXPECT_THAT(failure("a: \"open\nb: 1"), HasSubstr("net.prototxt:1: a text has no closing quote"));
  EXPECT_THAT(failure("a: \"\\q\""), HasSubstr("escape"));
  EXPECT_THAT(failure("a: \"\\"), HasSubstr("escape"));
  EXPECT_THAT(failure("a: [1 2]"), HasSubstr("expected ',' or ']'"));
  EXPECT_THAT(failure("}"), HasSubstr("expected the name of a field, found \"}\""));
  EXPECT_THAT(failure(std::string("a: 1\0b", 6)), HasSubstr("found"));
}

TEST(CaffeText, BoundsDepth) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "a{";
  EXPECT_THAT(failure(deep), HasSubstr("nested more than 32 deep"));
}

TEST(CaffeFields, ReadNumbersAndRefuseOthers) {
  const Message message =
      parse("i: 0x10 o: 010 n: -3 r: 1e-3 f: 2f b: true w: MAX q: \"7\" inner { i: 1 } big: 5000000000");
  const Fields fields(&message, kWhere, "param");
  EXPECT_EQ(fields.integer("i", 0), 16);
  EXPECT_EQ(fields.integer("o", 0), 8);
  EXPECT_EQ(fields.integer("n", 0, -5), -3);
  EXPECT_EQ(fields.integer("absent", 42), 42);
  EXPECT_EQ(fields.real("r", 0), 1e-3);
  EXPECT_EQ(fields.real("f", 0), 2.0);
  EXPECT_TRUE(fields.flag("b", false));
  EXPECT_EQ(fields.choice("w", "AVE", {"MAX", "AVE"}), "MAX");
  EXPECT_EQ(fields.choice("n", "MAX", {"MAX", "AVE"}, -4), "AVE");
  for (const char* wrong : {"n", "q", "w", "inner", "big"}) {
    EXPECT_THAT(error_text([&] { static_cast<void>(fields.integer(wrong, 0)); }),
                HasSubstr(std::string("param.") + wrong))
        << wrong;
  }
  EXPECT_THAT(error_text([&] { static_cast<void>(fields.choice("w", "A", {"A", "B"})); }), HasSubstr("one of A, B"));
}

TEST(CaffeFields, NameWhatNobodyAskedFor) {
  const Message message = parse("kernel_size: 3\ninner {\n kernal: 4 }");
  const Fields fields(&message, kWhere, "param");
  EXPECT_EQ(fields.integers("kernel_size"), std::vector<int64_t>{3});
  static_cast<void>(fields.inner("inner").has("kernel"));
  EXPECT_THAT(error_text([&] { fields.require_all_asked(); }),
              HasSubstr("line 3: param.inner has a field \"kernal\" that is not supported; near: kernel"));
}

}  // namespace
}  // namespace thalweg::caffe

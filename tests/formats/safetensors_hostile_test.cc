// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Damaged and malicious files: always an error with the file's name, never anything else.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "formats/safetensors_header.h"
#include "support/error_text.h"
#include "support/temporary_directory.h"
#include "thalweg/safetensors.h"

namespace thalweg {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace thalweg::testing;

formats::SafetensorsHeader parse(const std::string& bytes) {
  return formats::parse_safetensors(std::as_bytes(std::span(bytes)), "bad.safetensors");
}

std::string file_of(const std::string& header, size_t data_bytes) {
  const uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + std::string(data_bytes, '\x01');
}

std::string message(const std::string& header, size_t data_bytes = 8) {
  return error_text([&] { parse(file_of(header, data_bytes)); });
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

TEST(SafetensorsHostile, SoundHeaderIsAccepted) {
  EXPECT_EQ(message("{" + entry("a", "F32", "[2]", "[0,8]") + "}"), "no error");
  EXPECT_EQ(message("{" + entry("a", "F8_E4M3", "[8]", "[0,8]") + "}"), "no error");
  EXPECT_EQ(message("{" + entry("a", "F4", "[16]", "[0,8]") + "}   "), "no error");
}

TEST(SafetensorsHostile, HeaderLength) {
  std::string bytes = file_of("{}", 0);
  bytes[7] = '\x7f';
  EXPECT_THAT(error_text([&] { parse(bytes); }), AllOf(HasSubstr("bad.safetensors"), HasSubstr("too long")));
  bytes = file_of("{}", 0);
  bytes[0] = 3;
  EXPECT_THAT(error_text([&] { parse(bytes); }), HasSubstr("truncated"));
  EXPECT_THAT(error_text([&] { parse("PK\x03\x04"); }), HasSubstr("only 4 bytes"));
}

TEST(SafetensorsHostile, OffsetsThatDoNotFit) {
  EXPECT_THAT(message("{" + entry("a", "F32", "[4]", "[0,16]") + "}"),
              AllOf(HasSubstr("\"a\""), HasSubstr("outside of the 8 bytes")));
  EXPECT_THAT(message("{" + entry("a", "F32", "[2]", "[8,0]") + "}"), HasSubstr("outside"));
  EXPECT_THAT(message("{" + entry("a", "F32", "[1]", "[0,4]") + "," + entry("b", "F32", "[1]", "[2,6]") + "}"),
              AllOf(HasSubstr("\"b\""), HasSubstr("overlaps")));
  EXPECT_THAT(message("{" + entry("a", "F32", "[1]", "[4,8]") + "}"),
              HasSubstr("bytes 0 to 4 before it belong to no tensor"));
  EXPECT_THAT(message("{" + entry("a", "F32", "[1]", "[0,4]") + "}"), HasSubstr("holds 8 bytes"));
  EXPECT_THAT(message("{" + entry("a", "F32", "[2]", "[0,9223372036854775807]") + "}"), HasSubstr("outside"));
  EXPECT_THAT(message("{" + entry("a", "F32", "[2]", "[0,18446744073709551615]") + "}"),
              HasSubstr("18446744073709551615"));
}

TEST(SafetensorsHostile, ShapesThatDoNotFit) {
  EXPECT_THAT(message("{" + entry("a", "F32", "[3]", "[0,8]") + "}"),
              AllOf(HasSubstr("\"a\""), HasSubstr("does not fit 8 bytes")));
  EXPECT_THAT(message("{" + entry("a", "F32", "[4611686018427387906]", "[0,8]") + "}"), HasSubstr("does not fit"));
  EXPECT_THAT(message("{" + entry("a", "F32", "[4294967296,4294967296,2]", "[0,8]") + "}"), HasSubstr("does not fit"));
  EXPECT_THAT(message("{" + entry("a", "F32", "[0,4294967296,4294967296]", "[0,0]") + "}", 0),
              HasSubstr("does not fit"));
  EXPECT_THAT(message("{" + entry("a", "F4", "[3]", "[0,1]") + "}", 1), HasSubstr("does not fit"));
  std::string many = "[1";
  for (int i = 0; i < 100; ++i) many += ",1";
  EXPECT_THAT(message("{" + entry("a", "U8", many + "]", "[0,1]") + "}", 1), HasSubstr("more than 64"));
  EXPECT_THAT(message("{" + entry("a", "F33", "[2]", "[0,8]") + "}"), HasSubstr("\"F33\""));
}

TEST(SafetensorsHostile, StructureThatTheFormatDoesNotHave) {
  const std::string good = entry("a", "F32", "[2]", "[0,8]");
  for (const std::string& header : {
           std::string(),
           std::string("[]"),
           std::string("{"),
           std::string("{}x"),
           std::string("{\"a\":1}"),
           std::string("{\"a\":null}"),
           std::string("{\"a\":[]}"),
           "{" + good + "," + good + "}",
           "{" + good + ",}",
           entry("a", "F32", "[-1]", "[0,8]"),
           "{" + entry("a", "F32", "[-2]", "[0,8]") + "}",
           "{" + entry("a", "F32", "[2.0]", "[0,8]") + "}",
           "{" + entry("a", "F32", "[[2]]", "[0,8]") + "}",
           "{" + entry("a", "F32", "[\"2\"]", "[0,8]") + "}",
           "{" + entry("a", "F32", "[true]", "[0,8]") + "}",
           "{" + entry("a", "F32", "2", "[0,8]") + "}",
           "{" + entry("a", "F32", "[2]", "[0]") + "}",
           "{" + entry("a", "F32", "[2]", "[0,8,8]") + "}",
           "{" + entry("a", "F32", "[2]", "{}") + "}",
           "{" + entry("a\xff", "F32", "[2]", "[0,8]") + "}",
           std::string(R"({"a":{"dtype":"F32","shape":[2]}})"),
           std::string(R"({"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})"),
           std::string(R"({"a":{"dtype":["F32"],"shape":[2],"data_offsets":[0,8]}})"),
           std::string(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}})"),
           std::string(R"({"__metadata__":{"k":1}})"),
           std::string(R"({"__metadata__":"k"})"),
           std::string(R"({"__metadata__":{"k":{"l":"m"}}})"),
           std::string(R"({"__metadata__":{"k":"1","k":"2"}})"),
       }) {
    EXPECT_THAT(message(header), HasSubstr("bad.safetensors")) << header;
  }
}

TEST(SafetensorsHostile, NamesThatRepeat) {
  const std::string empty = entry("a", "F32", "[0]", "[0,0]");
  EXPECT_THAT(message("{" + empty + "," + empty + "}", 0), AllOf(HasSubstr("\"a\""), HasSubstr("comes twice")));
  EXPECT_THAT(message(R"({"__metadata__":{},"__metadata__":{}})", 0), HasSubstr("comes twice"));
}

TEST(SafetensorsHostile, DeepNesting) {
  EXPECT_THAT(message(std::string("{\"a\":") + std::string(1'000'000, '[')),
              HasSubstr("an array where the format has none"));
  std::string objects = "{";
  for (int i = 0; i < 100'000; ++i) objects += "\"a\":{";
  EXPECT_THAT(message(objects), HasSubstr("bad.safetensors"));
}

TEST(SafetensorsHostile, MessagesAreShortAndPrintable) {
  const std::string text = message("{" + entry(std::string(100'000, 'n') + "\\u001b[2J", "?", "[2]", "[0,8]") + "}");
  EXPECT_LT(text.size(), 500U);
  EXPECT_THAT(message("{" + entry("\\u001b[2J", "?", "[2]", "[0,8]") + "}"), HasSubstr("\\u001b"));
}

TEST(SafetensorsHostile, TypesWithoutADTypeAreNamedWhenUsed) {
  const TemporaryDirectory directory;
  write_bytes(directory / "f", file_of("{" + entry("a", "C64", "[1]", "[0,8]") + "}", 8));
  const SafetensorsFile file(directory / "f");
  EXPECT_THAT(error_text([&] { static_cast<void>(file.tensor("a")); }), AllOf(HasSubstr("\"a\""), HasSubstr("C64")));
}

TEST(SafetensorsHostile, BoolsMustBeBools) {
  const TemporaryDirectory directory;
  std::string bytes = file_of("{" + entry("a", "BOOL", "[8]", "[0,8]") + "}", 8);
  bytes.back() = '\x02';
  write_bytes(directory / "f", bytes);
  const SafetensorsFile file(directory / "f");
  EXPECT_THAT(error_text([&] { static_cast<void>(file.tensor("a")); }), HasSubstr("element 7"));
  EXPECT_THAT(error_text([&] { static_cast<void>(file.load("a")); }), HasSubstr("element 7"));
}

std::string sample_file(const std::string& path) {
  save_safetensors(path,
                   {{"weight", Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6})},
                    {"step", Tensor::from<int64_t>({1}, {7})},
                    {"mask", Tensor::from<uint8_t>({3}, {1, 0, 1})}},
                   {{"epoch", "3"}});
  return read_bytes(path);
}

TEST(SafetensorsHostile, EveryTruncationIsAnError) {
  const TemporaryDirectory directory;
  const std::string whole = sample_file(directory / "whole");
  const std::string path = directory / "cut";
  for (size_t length = 0; length < whole.size(); ++length) {
    write_bytes(path, whole.substr(0, length));
    EXPECT_THAT(error_text([&] { SafetensorsFile{path}; }), HasSubstr(path)) << length;
  }
}

/// Whatever is accepted must be consistent: all of its bytes can be read.
void use_everything(const std::string& bytes) {
  const formats::SafetensorsHeader header = parse(bytes);
  unsigned sum = 0;
  for (const formats::SafetensorsEntry& entry : header.entries) {
    EXPECT_GE(entry.shape.num_elements(), 0);
    for (uint64_t i = entry.begin; i < entry.end; ++i) {
      sum += static_cast<unsigned char>(bytes.at(header.data_start + i));
    }
  }
  EXPECT_LT(sum, 1'000'000U);
}

TEST(SafetensorsHostile, RandomDamage) {
  const TemporaryDirectory directory;
  const std::string whole = sample_file(directory / "whole");
  const std::string alphabet = "0123456789[]{}\",:-.eE \\unultrfse\x80\xff";
  std::mt19937 random(20250101);
  int refused = 0;
  for (int round = 0; round < 30'000; ++round) {
    std::string bytes = whole;
    const unsigned edits = 1 + random() % 3;
    for (unsigned i = 0; i < edits; ++i) {
      const size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes[at] = alphabet[random() % alphabet.size()]; break;
        case 2: bytes.erase(at, random() % 5); break;
        case 3: bytes.insert(at, 1, alphabet[random() % alphabet.size()]); break;
      }
    }
    if (error_text([&] { use_everything(bytes); }) != "no error") ++refused;
  }
  EXPECT_GT(refused, 15'000);
  EXPECT_LT(refused, 30'000);
}

}  // namespace
}  // namespace thalweg

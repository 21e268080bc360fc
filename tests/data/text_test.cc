// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/text.h"

#include <gtest/gtest.h>

#include "support/error_text.h"
#include "support/temporary_directory.h"

namespace thalweg::data {
namespace {

using testing::error_text;
using Tokens = std::vector<std::string>;

TEST(Text, TokenizeSplitsWordsAndMarks) {
  EXPECT_EQ(tokenize("Don't  stop,\tÉmile! "), (Tokens{"don", "'", "t", "stop", ",", "Émile", "!"}));
  EXPECT_EQ(tokenize("A b.C", {.lower_case = false, .split_punctuation = false}), (Tokens{"A", "b.C"}));
  EXPECT_TRUE(tokenize(" \r\n").empty());
}

TEST(Text, VocabularyKeepsTheMostFrequentAndComesBackFromItsFile) {
  const testing::TemporaryDirectory directory;
  const Vocabulary vocabulary =
      Vocabulary::from_counts({{"a", 5}, {"b", 9}, {"c", 5}, {"d", 1}, {"e", 3}}, {.max_tokens = 3, .min_count = 2});
  EXPECT_EQ(vocabulary.tokens(), (Tokens{"b", "a", "c"}));
  EXPECT_EQ(vocabulary.encode("b d A"), (std::vector<int64_t>{2, Vocabulary::kUnknown, 3}));
  vocabulary.save(directory / "words.txt");
  EXPECT_EQ(Vocabulary::load(directory / "words.txt").tokens(), vocabulary.tokens());
  testing::write_bytes(directory / "twice.txt", "a\nb\na\n");
  EXPECT_EQ(error_text([&] { Vocabulary::load(directory / "twice.txt"); }),
            directory / "twice.txt" + ": vocabulary: 'a' occurs twice");
}

TEST(Text, SequencesArePaddedAndCutOnEitherSide) {
  const std::vector<int64_t> sequence = {5, 6, 7};
  const auto shaped = [&](SequenceShape shape) {
    std::vector<int64_t> out(static_cast<size_t>(shape.length), -1);
    shape_sequence(sequence, shape, out.data());
    return out;
  };
  EXPECT_EQ(shaped({.length = 5}), (std::vector<int64_t>{0, 0, 5, 6, 7}));
  EXPECT_EQ(shaped({.length = 5, .pad = Side::kBack}), (std::vector<int64_t>{5, 6, 7, 0, 0}));
  EXPECT_EQ(shaped({.length = 2}), (std::vector<int64_t>{6, 7}));
  EXPECT_EQ(shaped({.length = 2, .truncate = Side::kBack}), (std::vector<int64_t>{5, 6}));
}

TEST(Text, PreprocessingTravelsAsJson) {
  const TextPreprocessing text{Vocabulary({"Fine", "film"}), {.lower_case = false}, {.length = 3, .pad = Side::kBack}};
  const TextPreprocessing back = TextPreprocessing::from_json(text.to_json());
  EXPECT_EQ(back.to_json(), text.to_json());
  std::vector<int64_t> row(3, -1);
  back.encode("Fine film", row.data());
  EXPECT_EQ(row, (std::vector<int64_t>{2, 3, Vocabulary::kPadding}));
}

TEST(Text, JsonOfAHostileFileIsRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[", "parse error"},
      {"[]", "tokens"},
      {R"({"length": 3})", "tokens"},
      {R"({"tokens": [1]})", "must be string"},
      {R"({"tokens": ["a", "b", "a"]})", "'a' occurs twice"},
      {R"({"tokens": [], "lenght": 3})", "unknown key 'lenght'; near: length"},
      {R"({"tokens": [], "length": 0})", "length 0 is not in [1, 1048576]"},
      {R"({"tokens": [], "length": 9000000000000000000})", "is not in [1, 1048576]"},
      {R"({"tokens": [], "length": 3.5})", "length cannot be 3.5"},
      {R"({"tokens": [], "pad": "middle"})", "pad cannot be \"middle\""},
      {R"({"tokens": [], "lower_case": "no"})", "boolean"},
  };
  for (const auto& [json, expected] : cases) {
    const std::string said = error_text([&, text = json] { TextPreprocessing::from_json(text); });
    EXPECT_EQ(said.rfind("text preprocessing: ", 0), 0U) << json;
    EXPECT_NE(said.find(expected), std::string::npos) << json << ": " << said;
  }
  const TextPreprocessing latin{Vocabulary({"caf\xe9"}), {}, {}};
  EXPECT_EQ(error_text([&] { latin.to_json(); }).rfind("vocabulary: holds text that is not UTF-8", 0), 0U);
}

TEST(Text, LinesBecomeRows) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory / "reviews.tsv";
  testing::write_bytes(path, "good\tFine film\r\n\nbad\tno film at all\ngood\t");
  const Vocabulary vocabulary = Vocabulary::from_counts(count_tokens(path));
  EXPECT_EQ(vocabulary.tokens().front(), "film");
  const TextLines lines(path, vocabulary, {.shape = {.length = 3}});
  EXPECT_EQ(lines.classes(), (Tokens{"bad", "good"}));
  ASSERT_EQ(lines.size(), 3);
  const Batch batch = lines.fetch(std::vector<int64_t>{1, 0, 2});
  const int64_t* rows = batch.inputs[0].data<int64_t>();
  EXPECT_EQ(rows[0], 2) << "film, after 'no' was cut";
  EXPECT_EQ(rows[3], Vocabulary::kPadding);
  EXPECT_EQ(rows[5], 2);
  EXPECT_EQ(batch.targets[0].data<int64_t>()[0], 0);
  EXPECT_EQ(batch.targets[0].data<int64_t>()[2], 1);
  EXPECT_EQ(TextLines(path, vocabulary, {.labels = false}).target_types().size(), 0U);
  testing::write_bytes(path, "good\tx\nno label\n");
  EXPECT_EQ(error_text([&] { TextLines(path, vocabulary); }),
            path + ": line 2: expected a class, a tab and text, got 'no label'");
}

}  // namespace
}  // namespace thalweg::data

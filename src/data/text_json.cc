// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "data/json_keys.h"
#include "thalweg/data/text.h"

namespace thalweg::data {

using Json = nlohmann::json;

NLOHMANN_JSON_SERIALIZE_ENUM(Side, {{Side::kFront, "front"}, {Side::kBack, "back"}})

namespace {

/// What a model's file may ask for a row: it comes from anywhere.
constexpr int64_t kLongestSequence = 1 << 20;

Json json_of(const TextPreprocessing& text) {
  return {{"tokens", text.vocabulary.tokens()},
          {"lower_case", text.tokenize.lower_case},
          {"split_punctuation", text.tokenize.split_punctuation},
          {"length", text.shape.length},
          {"pad", text.shape.pad},
          {"truncate", text.shape.truncate}};
}

TextPreprocessing preprocessing_of(const Json& json) {
  TW_REQUIRE(json.is_object() && json.contains("tokens"), "is no JSON object with tokens");
  TextPreprocessing text;
  text.vocabulary = Vocabulary(json.at("tokens").get<std::vector<std::string>>());
  text.tokenize.lower_case = json.value("lower_case", text.tokenize.lower_case);
  text.tokenize.split_punctuation = json.value("split_punctuation", text.tokenize.split_punctuation);
  text.shape.length = json.value("length", text.shape.length);
  text.shape.pad = json.value("pad", text.shape.pad);
  text.shape.truncate = json.value("truncate", text.shape.truncate);
  check_keys("text", json, json_of(text));
  TW_REQUIRE(text.shape.length >= 1 && text.shape.length <= kLongestSequence, "length ", text.shape.length,
             " is not in [1, ", kLongestSequence, "]");
  return text;
}

}  // namespace

void TextPreprocessing::encode(std::string_view text, int64_t* out) const {
  shape_sequence(vocabulary.encode(text, tokenize), shape, out);
}

std::string TextPreprocessing::to_json() const { return dump_json("vocabulary", json_of(*this)); }

TextPreprocessing TextPreprocessing::from_json(const std::string& text) {
  try {
    return preprocessing_of(Json::parse(text));
  } catch (const Json::exception& error) {
    raise("text preprocessing: ", error.what());
  } catch (const Error& error) {
    raise("text preprocessing: ", error.what());
  }
}

}  // namespace thalweg::data

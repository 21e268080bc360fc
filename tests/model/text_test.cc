// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Models of texts, sequences and values that need not be there, which the host executes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/onnx/small_model.h"
#include "support/error_text.h"
#include "support/temporary_directory.h"
#include "thalweg/model.h"
#include "thalweg/stored_types.h"

namespace thalweg {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace thalweg::testing;
using Type = onnx::AttributeProto::Type;

onnx::NodeProto node(const std::string& op, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs, std::vector<onnx::AttributeProto> attributes = {},
                     const std::string& domain = "") {
  return {op + "_node", op, domain, "", inputs, outputs, std::move(attributes)};
}

onnx::AttributeProto integer(const std::string& name, int64_t value) {
  onnx::AttributeProto attribute;
  attribute.name = name;
  attribute.type = Type::kInt;
  attribute.i = value;
  return attribute;
}

onnx::AttributeProto text(const std::string& name, const std::string& value) {
  onnx::AttributeProto attribute;
  attribute.name = name;
  attribute.type = Type::kString;
  attribute.s = value;
  return attribute;
}

onnx::AttributeProto texts(const std::string& name, const std::vector<std::string>& values) {
  onnx::AttributeProto attribute;
  attribute.name = name;
  attribute.type = Type::kStrings;
  attribute.strings = values;
  return attribute;
}

onnx::AttributeProto integers(const std::string& name, const std::vector<int64_t>& values) {
  onnx::AttributeProto attribute;
  attribute.name = name;
  attribute.type = Type::kInts;
  attribute.ints = values;
  return attribute;
}

onnx::ModelProto model_of(std::vector<onnx::NodeProto> nodes, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs) {
  onnx::ModelProto model = small_model();
  model.opset_import = {{"", 21}, {"ai.onnx.ml", 3}};
  model.graph.initializer.clear();
  model.graph.node = std::move(nodes);
  model.graph.input.clear();
  model.graph.output.clear();
  for (const std::string& name : inputs) model.graph.input.push_back({name, {}});
  for (const std::string& name : outputs) model.graph.output.push_back({name, {}});
  return model;
}

std::vector<std::string> texts_in(const Tensor& tensor) {
  const std::string* first = stored::texts_of(tensor);
  return {first, first + tensor.num_elements()};
}

TEST(ModelsOfTexts, NormaliseLookUpAndCompute) {
  const auto proto =
      model_of({node("StringNormalizer", {"words"}, {"lower"},
                     {text("case_change_action", "LOWER"), texts("stopwords", {"the"})}),
                node("LabelEncoder", {"lower"}, {"numbers"},
                     {texts("keys_strings", {"river", "valley"}), integers("values_int64s", {3, 5})}, "ai.onnx.ml"),
                node("Add", {"numbers", "numbers"}, {"doubled"})},
               {"words"}, {"lower", "doubled"});
  const Model model = Model::load_bytes(bytes_of(proto));
  const auto results = model.predict({stored::texts({4}, {"The", "River", "\xc3\x84ther", "VALLEY"})});
  EXPECT_THAT(texts_in(results[0]), ElementsAre("river", "\xc3\xa4ther", "valley"));
  EXPECT_EQ(results[1].shape(), (Shape{3}));
  EXPECT_EQ(results[1].data<int64_t>()[0], 6);
  EXPECT_EQ(results[1].data<int64_t>()[1], -2);
}

TEST(ModelsOfTexts, MoveThemAsNumbersAreMoved) {
  const auto proto = model_of(
      {node("Concat", {"a", "b"}, {"row"}, {integer("axis", 0)}), node("Unsqueeze", {"row", "axes"}, {"column"}),
       node("Transpose", {"column"}, {"turned"}), node("Gather", {"turned", "last"}, {"y"}, {integer("axis", 1)})},
      {"a", "b", "axes", "last"}, {"y"});
  const Model model = Model::load_bytes(bytes_of(proto));
  const Tensor y = model.predict({stored::texts({2}, {"a", "b"}), stored::texts({1}, {"c"}),
                                  Tensor::from<int64_t>({1}, {1}), Tensor::from<int64_t>({2}, {2, 0})})[0];
  EXPECT_EQ(y.shape(), (Shape{1, 2}));
  EXPECT_THAT(texts_in(y), ElementsAre("c", "a"));
}

TEST(ModelsOfTexts, NameTheNodeThatCannotTakeThem) {
  const auto proto = model_of({node("Relu", {"words"}, {"y"})}, {"words"}, {"y"});
  const Model model = Model::load_bytes(bytes_of(proto));
  EXPECT_THAT(error_text([&] { model.predict({stored::texts({1}, {"a"})}); }),
              AllOf(HasSubstr("Relu"), HasSubstr("numbers, not texts")));
}

TEST(ModelsOfTexts, AreSavedWithTheirConstants) {
  const TemporaryDirectory folder;
  auto proto = model_of({node("StringConcat", {"words", "ending"}, {"y"})}, {"words"}, {"y"});
  onnx::TensorProto ending;
  ending.name = "ending";
  ending.data_type = onnx::DataType::kString;
  ending.dims = {1};
  ending.string_data = {"!"};
  proto.graph.initializer = {ending};
  const Model model = Model::load_bytes(bytes_of(proto));
  model.save(folder / "texts.onnx");
  const Model again = Model::load(folder / "texts.onnx");
  EXPECT_THAT(texts_in(again.predict({stored::texts({2}, {"a", ""})})[0]), ElementsAre("a!", "!"));
}

TEST(RegularExpressions, MatchWholeTextsInTimeThatIsBounded) {
  const auto matches = [](const std::string& pattern, const std::string& given) {
    const auto proto = model_of({node("RegexFullMatch", {"x"}, {"y"}, {text("pattern", pattern)})}, {"x"}, {"y"});
    return Model::load_bytes(bytes_of(proto)).predict({stored::texts({1}, {given})})[0].item() != 0;
  };
  EXPECT_TRUE(matches("(ab|c){2,3}d?", "abcc"));
  EXPECT_FALSE(matches("(ab|c){2,3}d?", "abccc"));
  EXPECT_TRUE(matches("[^a-c\\d]+.", "xyz\xc3\xa9"));
  EXPECT_FALSE(matches("a", "ab"));
  EXPECT_TRUE(matches("\\w+\\b.*", "word and more"));
  // What takes a machine that tries one way after another for ever.
  EXPECT_FALSE(matches("(a*)*(a|aa)*b", std::string(5000, 'a')));
  EXPECT_THAT(error_text([&] { matches("(a", "a"); }), AllOf(HasSubstr("RegexFullMatch"), HasSubstr("does not end")));
  EXPECT_THAT(error_text([&] { matches("((((a{1000}){1000}){1000}){1000}){1000}", "a"); }), HasSubstr("too large"));
  EXPECT_THAT(error_text([&] { matches("(((()){1000}){1000}){1000}", "a"); }), HasSubstr("too large"));
}

TEST(ModelsOfTexts, CutTextsIntoWordsAndCountThem) {
  auto proto =
      model_of({node("Tokenizer", {"texts"}, {"words"},
                     {integer("mark", 0), integer("mincharnum", 2), text("pad_value", "#"), text("tokenexp", "[a-z]+")},
                     "com.microsoft"),
                node("TfIdfVectorizer", {"words"}, {"counts"},
                     {text("mode", "TF"), integer("min_gram_length", 1), integer("max_gram_length", 1),
                      integer("max_skip_count", 0), integers("ngram_counts", {0}), integers("ngram_indexes", {1, 0}),
                      texts("pool_strings", {"river", "water"})})},
               {"texts"}, {"words", "counts"});
  proto.opset_import.push_back({"com.microsoft", 1});
  const Model model = Model::load_bytes(bytes_of(proto));
  const auto results = model.predict({stored::texts({2}, {"a river, a river!", "water"})});
  EXPECT_EQ(results[0].shape(), (Shape{2, 2}));
  EXPECT_THAT(texts_in(results[0]), ElementsAre("river", "river", "water", "#"));
  EXPECT_EQ(results[1].shape(), (Shape{2, 2}));
  const float expected[] = {0, 2, 1, 0};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(results[1].data<float>()[i], expected[i]) << i;
  proto.graph.node[0].attribute[3] = texts("separators", {", ", " "});
  const Tensor cut = Model::load_bytes(bytes_of(proto)).predict({stored::texts({1}, {"a river, to"})})[0];
  EXPECT_THAT(texts_in(cut), ElementsAre("river", "to"));
}

TEST(ModelsOfSequences, TakeGiveAndChangeThem) {
  const auto proto =
      model_of({node("SequenceInsert", {"list", "x"}, {"longer"}), node("SequenceAt", {"longer", "place"}, {"y"}),
                node("ConcatFromSequence", {"longer"}, {"all"}, {integer("axis", 0)})},
               {"list", "x", "place"}, {"longer", "y", "all"});
  const Model model = Model::load_bytes(bytes_of(proto));
  const Tensor list = stored::sequence({Tensor::from<float>({2}, {1, 2})});
  const auto results = model.predict({list, Tensor::from<float>({1}, {3}), Tensor::scalar<int64_t>(-1)});
  EXPECT_EQ(stored::items_of(results[0]).size(), 2U);
  EXPECT_EQ(results[1].item(), 3);
  EXPECT_EQ(results[2].shape(), (Shape{3}));
  EXPECT_THAT(error_text([&] {
                model.predict({list, Tensor::from<float>({1}, {3}), Tensor::scalar<int64_t>(7)});
              }),
              AllOf(HasSubstr("SequenceAt"), HasSubstr("position 7")));
}

}  // namespace
}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/predictor.h"

#include <gtest/gtest.h>

#include <limits>

#include "thalweg/error.h"
#include "thalweg/input_error.h"
#include "thalweg/ops.h"

namespace thalweg {
namespace {

using Metadata = std::map<std::string, std::string>;

/// Rows of scores of `columns` classes, from an input of any type; with `metadata` as if it came from a file.
Model classifier(const Shape& input, int64_t columns, const data::ModelMetadata& metadata, bool softmax = false) {
  auto graph = std::make_unique<Graph>("classifier");
  Value* x = graph->input("x", {metadata.text ? DType::kI64 : DType::kF32, input});
  Value* y = ops::cast(ops::reshape(x, {0, -1}), DType::kF32);
  y = ops::slice(y, {0}, {columns}, {1});
  graph->mark_output(softmax ? ops::softmax(y, 1) : y, "y");
  const Tensor file = Model(std::move(graph)).to_onnx(data::to_properties(metadata));
  return Model::load_bytes({static_cast<const char*>(file.raw()), file.num_bytes()});
}

Tensor pixels(int64_t height, int64_t width, int64_t channels) {
  Tensor result(DType::kU8, {height, width, channels});
  for (int64_t i = 0; i < result.num_elements(); ++i) result.data<uint8_t>()[i] = static_cast<uint8_t>(i * 7 % 251);
  return result;
}

data::ModelMetadata takes_pictures() {
  data::Normalize output;
  output.mean = {0};
  output.deviation = {1.0 / 255};
  return {.preprocessing = data::Pipeline({data::Resize{2, 2, data::Interpolation::kNearest}}, output)};
}

TEST(Predictor, PixelsKeepTheirColours) {
  const Model model = classifier({kFree, 3, 2, 2}, 3, takes_pictures());
  const Predictor predictor(model);
  EXPECT_TRUE(predictor.takes_pictures());
  EXPECT_FALSE(predictor.takes_texts() || predictor.takes_columns());
  const Tensor rgb = pixels(2, 2, 3);
  const std::vector<Tensor> inputs = predictor.from_pictures(std::vector<Picture>{{"a", {}, rgb}});
  ASSERT_EQ(inputs.size(), 1U);
  EXPECT_EQ(inputs[0].shape(), Shape({1, 3, 2, 2}));
  for (int64_t place = 0; place < 4; ++place) {
    for (int64_t c = 0; c < 3; ++c) {
      EXPECT_NEAR(inputs[0].data<float>()[c * 4 + place], rgb.data<uint8_t>()[place * 3 + c], 1e-3);
    }
  }
}

TEST(Predictor, AlphaIsLeftOutAndGreyServesAllColours) {
  const Model model = classifier({kFree, 3, 2, 2}, 3, takes_pictures());
  const Tensor rgba = pixels(2, 2, 4), grey = pixels(2, 2, 1);
  const std::vector<Picture> pictures{{"a", {}, rgba}, {"b", {}, grey}, {"c", {}, grey.reshaped(Shape{2, 2})}};
  const Tensor rows = Predictor(model).from_pictures(pictures, 2)[0];
  EXPECT_EQ(rows.shape(), Shape({3, 3, 2, 2}));
  EXPECT_NEAR(rows.data<float>()[4 + 1], rgba.data<uint8_t>()[1 * 4 + 1], 1e-3) << "green of the second pixel";
  EXPECT_NEAR(rows.data<float>()[12 + 8 + 3], grey.data<uint8_t>()[3], 1e-3) << "blue of the last pixel";
  EXPECT_NEAR(rows.data<float>()[24 + 4], grey.data<uint8_t>()[0], 1e-3);
}

TEST(Predictor, ABadPictureIsNamed) {
  const Model model = classifier({kFree, 3, 2, 2}, 3, takes_pictures());
  const std::vector<uint8_t> noise = {1, 2, 3};
  const std::vector<Picture> pictures{{"good", {}, pixels(2, 2, 3)}, {"bad.jpg", noise, {}}};
  try {
    Predictor(model).from_pictures(pictures);
    FAIL() << "three bytes are no picture";
  } catch (const InputError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("bad.jpg: ")) << error.what();
  }
  EXPECT_THROW(Predictor(model).from_pictures(std::vector<Picture>{{"five", {}, pixels(2, 2, 5)}}), InputError);
  EXPECT_THROW(Predictor(model).from_pictures(std::vector<Picture>{{"f32", {}, Tensor(DType::kF32, {2, 2})}}),
               InputError);
}

TEST(Predictor, NoPicturesAreNoRows) {
  const Model model = classifier({kFree, 3, 2, 2}, 3, takes_pictures());
  EXPECT_EQ(Predictor(model).from_pictures({})[0].shape(), Shape({0, 3, 2, 2}));
}

TEST(Predictor, WhereTheFileSaysNothingTheInputDoes) {
  const Model nhwc = classifier({kFree, 4, 5, 1}, 3, {});
  const PictureInput input = picture_input(nhwc);
  EXPECT_EQ(input.layout, data::ImageLayout::kNhwc);
  EXPECT_EQ(input.channels, 1);
  EXPECT_EQ(input.height, 4);
  EXPECT_EQ(input.width, 5);
  EXPECT_EQ(usual_elements(input).mean, std::vector<double>{0});
  EXPECT_EQ(Predictor(nhwc).from_pictures(std::vector<Picture>{{"a", {}, pixels(9, 9, 3)}})[0].shape(),
            Shape({1, 4, 5, 1}));
  EXPECT_EQ(picture_input(nhwc, data::ImageLayout::kNchw).height, 5);
  EXPECT_THROW(picture_input(classifier({kFree, 12}, 3, {})), InputError);
  const Model any = classifier({kFree, 3, kFree, kFree}, 3, {});
  EXPECT_THROW(Predictor(any).from_pictures(std::vector<Picture>{{"a", {}, pixels(9, 9, 3)}}), InputError);
}

TEST(Predictor, TextsBecomeRowsOfTokens) {
  data::ModelMetadata metadata;
  metadata.text.emplace();
  metadata.text->vocabulary = data::Vocabulary({"fine", "day"});
  metadata.text->shape.length = 3;
  const Model model = classifier({kFree, 3}, 2, metadata);
  const Predictor predictor(model);
  EXPECT_TRUE(predictor.takes_texts());
  const Tensor rows = predictor.from_texts(std::vector<std::string>{"Fine day", "", "a fine fine day"})[0];
  EXPECT_EQ(rows.shape(), Shape({3, 3}));
  const std::vector<int64_t> expected = {0, 2, 3, 0, 0, 0, 2, 2, 3};
  EXPECT_EQ(std::vector<int64_t>(rows.data<int64_t>(), rows.data<int64_t>() + 9), expected);
  EXPECT_THROW(Predictor(classifier({kFree, 3}, 2, {})).from_texts(std::vector<std::string>{"a"}), InputError);
}

TEST(Predictor, ClassesAreThoseThatTheFileNames) {
  EXPECT_FALSE(Predictor(classifier({kFree, 3}, 3, {})).gives_classes());
  EXPECT_TRUE(Predictor(classifier({kFree, 3}, 3, {}, true)).gives_classes()) << "what a softmax gives";
  const Model model = classifier({kFree, 3}, 3, {.class_names = {"ant", "bee", "fly"}});
  const Predictor predictor(model);
  EXPECT_TRUE(predictor.gives_classes());
  EXPECT_EQ(predictor.class_name(1), "bee");
  EXPECT_EQ(predictor.class_name(3), "3");
  EXPECT_FALSE(Predictor(classifier({kFree, 3}, 3, {.class_names = {"ant", "bee"}})).gives_classes());
  EXPECT_TRUE(Predictor(classifier({kFree, 1}, 1, {.class_names = {"no", "yes"}})).gives_classes());
}

TEST(Predictor, RowsAreThoseThatTheModelSays) {
  EXPECT_TRUE(Predictor(classifier({kFree, 3}, 3, {})).gives_rows());
  auto graph = std::make_unique<Graph>("sums");
  Value* x = graph->input("x", {DType::kF32, {kFree, 3}});
  graph->mark_output(x, "same");
  graph->mark_output(ops::reduce_sum(x, {0}), "sums");
  const Model model(std::move(graph));
  EXPECT_FALSE(Predictor(model).gives_rows()) << "the second output has columns";
}

TEST(Predictor, ScoresBecomeProbabilitiesButProbabilitiesStay) {
  const Tensor scores = Tensor::from<float>({1, 3}, {0.2F, 0.5F, 0.3F});
  const Model with_softmax = classifier({kFree, 3}, 3, {}, true);
  EXPECT_EQ(Predictor(with_softmax).probabilities(scores).data<float>()[1], 0.5F);
  const Model plain = classifier({kFree, 3}, 3, {});
  EXPECT_NEAR(Predictor(plain).probabilities(scores).data<float>()[1], 0.3907, 1e-3);
}

TEST(Largest, InOrderWithNanLast) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<RankedClass> top = largest(Tensor::from<float>({5}, {1, nan, 3, 3, 2}), 4);
  ASSERT_EQ(top.size(), 4U);
  const std::vector<int64_t> order = {top[0].index, top[1].index, top[2].index, top[3].index};
  EXPECT_EQ(order, (std::vector<int64_t>{2, 3, 4, 0}));
  EXPECT_EQ(largest(Tensor::from<float>({2}, {1, 2}), 9).size(), 2U);
}

}  // namespace
}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cli/color_model.h"
#include "cli/program.h"
#include "support/bad_images.h"
#include "support/golden_image.h"
#include "support/source_dir.h"
#include "thalweg/npy.h"
#include "thalweg/safetensors.h"

namespace thalweg::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

/// Files of a test, and the model of cli/color_model.h among them.
class Predict : public ::testing::Test {
 protected:
  Predict() { write_bytes(directory_ / "color.onnx", bytes_of(color_model(-1))); }

  ProcessResult predict(const std::string& data, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"predict", directory_ / "color.onnx", data};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }

  const TemporaryDirectory directory_;
};

TEST_F(Predict, ArraysGiveTheGoldenAnswers) {
  const SafetensorsFile golden(TW_SOURCE_DIR "/tests/golden/onnx/convnet.safetensors");
  npy::write(directory_ / "x.npy", golden.tensor("input_0"));
  for (const char* batch : {"1", "2"}) {
    const ProcessResult run = run_program(
        {"predict", golden_model("convnet"), directory_ / "x.npy", "-o", directory_ / "y.npy", "--batch", batch});
    ASSERT_EQ(run.exit_code, 0) << run.error;
    EXPECT_EQ(run.out, "");
    const Tensor y = npy::read(directory_ / "y.npy");
    const Tensor expected = golden.tensor("output_0");
    ASSERT_EQ(y.type(), expected.type());
    for (int64_t i = 0; i < y.num_elements(); ++i) EXPECT_NEAR(y.data<float>()[i], expected.data<float>()[i], 1e-4);
  }
}

TEST_F(Predict, ImagesAreReadAsTheMetadataSay) {
  const ProcessResult run = predict(image_path("photo.png"), {"--json", "--top", "0"});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  EXPECT_EQ(run.error, "");
  const auto line = json_lines(run.out).at(0);
  EXPECT_EQ(line["sample"], image_path("photo.png"));
  const auto scores = line["outputs"]["y"].get<std::vector<double>>();
  ASSERT_EQ(scores.size(), 3U);
  const Tensor pixels = data::read_image(image_path("photo.png"));
  double means[3] = {0, 0, 0};
  for (int64_t i = 0; i < pixels.num_elements(); ++i) means[i % 3] += pixels.data<uint8_t>()[i];
  for (size_t channel = 0; channel < 3; ++channel) {
    const double mean = means[channel] * 3 / static_cast<double>(pixels.num_elements()) / 255;
    EXPECT_NEAR(scores[channel], mean, 0.01);
  }
}

TEST_F(Predict, ClassesComeWithHowLikelyTheyAre) {
  const auto scores = json_lines(predict(image_path("photo.png"), {"--json", "--top", "0"}).out)
                          .at(0)["outputs"]["y"]
                          .get<std::vector<double>>();
  double sum = 0;
  for (const double score : scores) sum += std::exp(score);
  const auto line = json_lines(predict(image_path("photo.png"), {"--json"}).out).at(0);
  ASSERT_EQ(line["top"].size(), 3U);
  double before = 1;
  for (const auto& one : line["top"]) {
    const auto channel = one["index"].get<size_t>();
    EXPECT_EQ(one["class"], (std::vector<std::string>{"red", "green", "blue"})[channel]);
    EXPECT_NEAR(one["score"].get<double>(), std::exp(scores[channel]) / sum, 1e-5);
    EXPECT_LE(one["score"].get<double>(), before);
    before = one["score"].get<double>();
  }
}

TEST_F(Predict, AFolderOfImagesComesInTheOrderOfItsNames) {
  std::filesystem::create_directories(directory_.path() / "photos/inner");
  std::filesystem::copy(image_path("photo.jpg"), directory_.path() / "photos/b.jpg");
  std::filesystem::copy(image_path("photo.bmp"), directory_.path() / "photos/a.bmp");
  std::filesystem::copy(image_path("photo.gif"), directory_.path() / "photos/inner/c.gif");
  const ProcessResult run = predict(directory_ / "photos", {"--batch", "2", "--format", "csv", "--top", "1"});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.out, StartsWith("sample,class_1,score_1\n"));
  const size_t a = run.out.find("a.bmp,");
  const size_t b = run.out.find("b.jpg,");
  const size_t c = run.out.find("inner/c.gif,");
  EXPECT_NE(c, std::string::npos) << run.out;
  EXPECT_LT(a, b);
  EXPECT_LT(b, c);
}

TEST_F(Predict, OptionsReplaceTheMetadata) {
  const ProcessResult zero =
      predict(image_path("photo.png"), {"--resize", "6", "--crop", "4", "--mean", "0.5", "--std", "1e9", "--top", "0"});
  ASSERT_EQ(zero.exit_code, 0) << zero.error;
  EXPECT_THAT(zero.out, HasSubstr("photo.png: y = ["));
  const auto line = json_lines(predict(image_path("photo.png"),
                                       {"--resize", "4x4", "--mean", "0.5", "--std", "1e9", "--top", "0", "--json"})
                                   .out)
                        .at(0);
  for (const auto& value : line["outputs"]["y"]) EXPECT_NEAR(value.get<double>(), 0, 1e-8);
}

TEST_F(Predict, TablesGoInByColumns) {
  // y = relu(x + [1, -2])
  write_bytes(directory_ / "small.onnx", bytes_of(small_model()));
  write_bytes(directory_ / "table.csv", "name,a,b\nfirst,1,2\nsecond,3.5,4\n");
  const ProcessResult all = run_program({"predict", directory_ / "small.onnx", directory_ / "table.csv"});
  ASSERT_EQ(all.exit_code, 0) << all.error;
  EXPECT_EQ(all.out, "0: y = [2,0]\n1: y = [4.5,2]\n");
  const ProcessResult chosen = run_program(
      {"predict", directory_ / "small.onnx", directory_ / "table.csv", "--columns", "b,a", "-o", directory_ / "y.csv"});
  ASSERT_EQ(chosen.exit_code, 0) << chosen.error;
  EXPECT_EQ(read_bytes(directory_ / "y.csv"), "sample,y_0,y_1\n0,3,0\n1,5,1.5\n");
}

TEST_F(Predict, WhatIsWrongWithATableIsNamed) {
  write_bytes(directory_ / "small.onnx", bytes_of(small_model()));
  const auto run = [&](const std::string& table, std::vector<std::string> more = {}) {
    write_bytes(directory_ / "table.csv", table);
    more.insert(more.begin(), {"predict", directory_ / "small.onnx", directory_ / "table.csv"});
    return run_program(more);
  };
  EXPECT_THAT(run("a,city,c\n1,Rome,\n").error,
              HasSubstr("takes 2 columns, there are 1 for it; left out, for they hold no numbers: city (string), "
                        "c (empty); choose with --columns"));
  EXPECT_THAT(run("a;b\n1;2\n").error,
              HasSubstr("its only column is called \"a;b\": is \";\" what separates columns?"));
  EXPECT_THAT(run("a,b\n1,2\n,4\n").error,
              HasSubstr("column 'a' is null in row 1; say what to fill nulls with (--fill, "));
  EXPECT_EQ(run("a,b\n1,2\n,4\n", {"--fill", "7"}).out, "0: y = [2,0]\n1: y = [8,2]\n");
  EXPECT_THAT(run("a,city\n1,Rome\n2,Bern\n", {"--columns", "a,city"}).error,
              HasSubstr("table.csv: column 'city' holds \"Rome\", which is no float; it is a column of text: leave it "
                        "out, or make numbers of it"));
  EXPECT_THAT(run_program({"predict", directory_ / "table.csv", directory_ / "table.csv"}).error,
              HasSubstr("table.csv: is text, not an ONNX model"));
}

/// y = relu(x + [1, -2]) of two columns that come out of features.
std::string model_with_features(const std::vector<std::vector<std::string>>& columns) {
  onnx::ModelProto model = small_model();
  data::ModelMetadata metadata;
  metadata.features = data::Features({data::StringIndex{"city", {"Bern", "Oslo", "Rome"}},
                                      data::MinMaxScale{"fare", 0, 10}, data::StringIndex{"label", {"no", "yes"}}});
  metadata.columns = columns;
  for (const auto& property : data::to_properties(metadata)) model.metadata_props.push_back(property);
  return bytes_of(model);
}

TEST_F(Predict, TablesGoThroughTheFeaturesOfTheModel) {
  write_bytes(directory_ / "tips.onnx", model_with_features({{"fare", "city"}}));
  write_bytes(directory_ / "trips.csv", "city,fare,hour\nOslo,5,1\nRome,20,2\nWien,0,3\n");
  const ProcessResult run = run_program({"predict", directory_ / "tips.onnx", directory_ / "trips.csv"});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  EXPECT_EQ(run.out, "0: y = [1.5,0]\n1: y = [3,0]\n2: y = [1,1]\n") << "0.5 1, 2 2, 0 3: the label is not asked for";
  const ProcessResult chosen =
      run_program({"predict", directory_ / "tips.onnx", directory_ / "trips.csv", "--columns", "hour,city", "--json"});
  EXPECT_EQ(json_lines(chosen.out).at(2)["outputs"]["y"], (std::vector<double>{4, 1})) << chosen.error;
}

TEST_F(Predict, WhatTheFeaturesNeedIsNamed) {
  write_bytes(directory_ / "tips.onnx", model_with_features({{"fare", "city"}}));
  write_bytes(directory_ / "trips.csv", "city,hour\nOslo,5\n");
  const ProcessResult missing = run_program({"predict", directory_ / "tips.onnx", directory_ / "trips.csv"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.error, HasSubstr("trips.csv: there is no column 'fare'"));
  write_bytes(directory_ / "wide.onnx", model_with_features({{"fare", "city", "hour"}}));
  const ProcessResult wide = run_program({"predict", directory_ / "wide.onnx", directory_ / "trips.csv"});
  EXPECT_NE(wide.exit_code, 0);
  write_bytes(directory_ / "trips.csv", "city,hour,fare\nOslo,5,1\n");
  const ProcessResult width = run_program({"predict", directory_ / "wide.onnx", directory_ / "trips.csv"});
  EXPECT_EQ(width.exit_code, 2);
  EXPECT_THAT(width.error, HasSubstr("takes 2 columns, there are 3 for it; choose with --columns"));
}

TEST_F(Predict, AFolderOfFoldersOfTablesIsATable) {
  write_bytes(directory_ / "small.onnx", bytes_of(small_model()));
  for (const char* part : {"year=2020", "year=2021"}) {
    std::filesystem::create_directories(directory_.path() / "table" / part);
    write_bytes((directory_.path() / "table" / part / "part-0.csv").string(), "a,b\n1,2\n");
  }
  const ProcessResult run = run_program({"predict", directory_ / "small.onnx", directory_ / "table"});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  EXPECT_EQ(run.out, "0: y = [2,0]\n1: y = [2,0]\n");
}

TEST_F(Predict, ImagesAtAnAddressAreTheSame) {
  std::filesystem::create_directories(directory_.path() / "photos/inner");
  std::filesystem::copy(image_path("photo.jpg"), directory_.path() / "photos/inner/b.jpg");
  write_bytes(directory_ / "photos/labels.csv", "inner/b.jpg,1\n");
  const auto here = json_lines(predict(directory_ / "photos", {"--json"}).out).at(0);
  for (const char* path : {"photos", "photos/inner/b.jpg"}) {
    const ProcessResult run = predict("file://" + directory_ / path, {"--json"});
    ASSERT_EQ(run.exit_code, 0) << run.error;
    EXPECT_EQ(json_lines(run.out).at(0)["top"], here["top"]);
  }
  for (const char* path : {"photos", "photos/inner/b.jpg"}) {
    const ProcessResult limited = predict(directory_ / path, {"--max-pixels", "100"});
    EXPECT_EQ(limited.exit_code, 1);
    EXPECT_THAT(limited.error, HasSubstr("61 x 47 pixels are more than the limit of 100"));
  }
}

TEST_F(Predict, RandomTransformsOfTheMetadataAreLeftOut) {
  onnx::ModelProto model = color_model(-1);
  const data::Pipeline random({data::RandomResizedCrop{4, 4}, data::ColorJitter{0.9, 0.9, 0.9, 0.5}}, {{0}, {1}});
  for (const auto& [json, file] :
       {std::pair(random.to_json(), "random.onnx"), std::pair(random.for_prediction().to_json(), "fixed.onnx")}) {
    model.metadata_props = {{"thalweg.preprocessing", json}};
    write_bytes(directory_ / file, bytes_of(model));
  }
  const ProcessResult run = run_program({"predict", directory_ / "random.onnx", image_path("photo.png")});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  EXPECT_EQ(run.out, run_program({"predict", directory_ / "fixed.onnx", image_path("photo.png")}).out);
}

/// y = the numbers of the tokens, of lines of three.
onnx::ModelProto proto_of_text() {
  onnx::ModelProto model = small_model();
  model.graph.initializer.clear();
  model.graph.input = {value_info("x", {-1, 3}, onnx::DataType::kInt64)};
  model.graph.output = {value_info("y", {-1, 3}, onnx::DataType::kInt64)};
  model.graph.node = {{"same", "Abs", "", "", {"x"}, {"y"}, {}}};
  data::ModelMetadata metadata;
  metadata.text = data::TextPreprocessing{data::Vocabulary({"fine", "film"}), {}, {.length = 3}};
  const auto properties = data::to_properties(metadata);
  model.metadata_props.assign(properties.begin(), properties.end());
  return model;
}
std::string model_of_text() { return bytes_of(proto_of_text()); }

TEST_F(Predict, NumbersOfFewBitsAreWrittenAsNumbers) {
  onnx::ModelProto model = proto_of_text();
  model.opset_import = {{"", 21}};
  onnx::AttributeProto to;
  to.name = "to";
  to.type = onnx::AttributeProto::Type::kInt;
  to.i = static_cast<int64_t>(onnx::DataType::kInt4);
  model.graph.node[0].op_type = "Cast";
  model.graph.node[0].attribute = {to};
  model.graph.output = {value_info("y", {-1, 3}, onnx::DataType::kInt4)};
  write_bytes(directory_ / "few_bits.onnx", bytes_of(model));
  write_bytes(directory_ / "lines.txt", "A fine Film\n");
  const ProcessResult run = run_program({"predict", directory_ / "few_bits.onnx", directory_ / "lines.txt"});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  EXPECT_EQ(run.out, "0: y = [1,2,3]\n");
}

TEST_F(Predict, LinesOfTextGoByTheVocabularyOfTheModel) {
  write_bytes(directory_ / "text.onnx", model_of_text());
  write_bytes(directory_ / "lines.txt", "A fine Film\n\nfilm\n");
  for (const std::string& path : {directory_ / "lines.txt", "file://" + directory_ / "lines.txt"}) {
    const ProcessResult run = run_program({"predict", directory_ / "text.onnx", path});
    ASSERT_EQ(run.exit_code, 0) << run.error;
    EXPECT_EQ(run.out, "0: y = [1,2,3]\n1: y = [0,0,3]\n");
  }
  write_bytes(directory_ / "labelled.tsv", "good\tfine\n");
  const ProcessResult run =
      run_program({"predict", directory_ / "text.onnx", directory_ / "labelled.tsv", "--labelled"});
  EXPECT_EQ(run.out, "0: y = [0,0,2]\n") << run.error;
  const ProcessResult other = predict(directory_ / "lines.txt");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.error, HasSubstr("the model's file does not say how text becomes its input"));
}

TEST_F(Predict, AModelOfFixedBatchGetsItsLastBatchFilledUp) {
  write_bytes(directory_ / "color.onnx", bytes_of(color_model(4)));
  Tensor x(DType::kF64, {6, 3, 4, 4});
  for (int64_t i = 0; i < x.num_elements(); ++i) x.data<double>()[i] = static_cast<double>(i / 16);
  npy::write_archive(directory_ / "x.npz", {{"x", x}});
  const ProcessResult run = predict(directory_ / "x.npz", {"-o", directory_ / "y.npz"});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  const auto arrays = npy::read_archive(directory_ / "y.npz");
  ASSERT_EQ(arrays.at(0).name, "y");
  ASSERT_EQ(arrays[0].tensor.type(), (TensorType{DType::kF32, {6, 3}}));
  for (int64_t i = 0; i < 18; ++i) EXPECT_EQ(arrays[0].tensor.data<float>()[i], static_cast<float>(i));
}

TEST_F(Predict, SoftmaxMakesProbabilities) {
  npy::write(directory_ / "x.npy", Tensor::zeros(DType::kF32, {3, 4, 4}));
  const auto line = json_lines(predict(directory_ / "x.npy", {"--softmax", "--json"}).out).at(0);
  for (const auto& one : line["top"]) EXPECT_NEAR(one["score"].get<double>(), 1.0 / 3, 1e-6);
}

TEST_F(Predict, ASingleScoreSpeaksForTheSecondOfTwoClasses) {
  onnx::ModelProto model = color_model(-1);
  model.graph.input = {value_info("x", {-1, 1, 4, 4})};
  model.graph.output = {value_info("y", {-1, 1})};
  model.metadata_props.clear();
  write_bytes(directory_ / "score.onnx", bytes_of(model));
  Tensor x = Tensor::zeros(DType::kF32, {2, 1, 4, 4});
  std::fill_n(x.data<float>() + 16, 16, 2.0F);
  npy::write(directory_ / "x.npy", x);
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"predict", directory_ / "score.onnx", directory_ / "x.npy"});
    const ProcessResult result = run_program(more);
    EXPECT_EQ(result.exit_code, 0) << result.error;
    return result.out;
  };
  const auto lines = json_lines(run({"--softmax", "--json"}));
  EXPECT_EQ(lines.at(0)["outputs"]["y"], (std::vector<double>{0.5, 0.5}));
  EXPECT_NEAR(lines.at(1)["outputs"]["y"].at(1).get<double>(), 1 / (1 + std::exp(-2.0)), 1e-6);
  EXPECT_THAT(run({"--softmax", "--format", "csv"}), StartsWith("sample,y_0,y_1\n0,0.5,0.5\n"));
  run({"--softmax", "-o", directory_ / "y.npy"});
  EXPECT_EQ(npy::read(directory_ / "y.npy").shape(), (Shape{2, 2}));
  // To name the first class whatever the score is would be wrong for half of the rows.
  write_bytes(directory_ / "names.txt", "no\nyes\n");
  EXPECT_THAT(run({"--classes", directory_ / "names.txt"}), HasSubstr("1: yes 0.8808, no 0.1192"));
}

TEST_F(Predict, ProbabilitiesStayAsTheyAre) {
  onnx::ModelProto model = color_model(-1);
  model.graph.node.back().output = {"scores"};
  model.graph.node.push_back({"probable", "Softmax", "", "", {"scores"}, {"y"}, {}});
  write_bytes(directory_ / "probable.onnx", bytes_of(model));
  Tensor x = Tensor::zeros(DType::kF32, {1, 3, 4, 4});
  std::fill_n(x.data<float>(), 16, 4.0F);
  npy::write(directory_ / "x.npy", x);
  const auto answer = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"predict", directory_ / "probable.onnx", directory_ / "x.npy"});
    return run_program(more).out;
  };
  EXPECT_THAT(answer({}), HasSubstr("red 0.96"));
  EXPECT_THAT(answer({"--format", "csv"}), StartsWith("sample,class_1,score_1,class_2,score_2,class_3,score_3\n0,red,"))
      << "no more columns than there are classes";
  EXPECT_EQ(answer({"--softmax"}), answer({}));
}

TEST_F(Predict, ImagesThatCannotBeReadAreLeftOutIfAskedFor) {
  const std::string photos = directory_ / "photos";
  write_odd_images(photos);
  const ProcessResult failing = predict(photos);
  EXPECT_EQ(failing.exit_code, 1);
  EXPECT_THAT(failing.error, HasSubstr("; --bad-samples skip leaves out what cannot be read"));
  for (const char* batch : {"1", "3", "16"}) {
    const ProcessResult run = predict(photos, {"--bad-samples", "skip", "--json", "--batch", batch});
    EXPECT_EQ(run.exit_code, 0) << run.error;
    EXPECT_THAT(run.error, HasSubstr("4 samples that could not be read were left out: " + photos));
    const auto lines = json_lines(run.out);
    ASSERT_EQ(lines.size(), 4U);
    // Each with the name that its answer has alone.
    for (const auto& line : lines) {
      const auto name = line["sample"].get<std::string>();
      EXPECT_THAT(name, StartsWith(photos + "/good_"));
      EXPECT_EQ(line["top"], json_lines(predict(name, {"--json"}).out).at(0)["top"]) << name;
    }
  }
  EXPECT_EQ(predict(photos, {"--bad-samples", "skip", "-o", directory_ / "y.npy"}).exit_code, 0);
  EXPECT_EQ(npy::read(directory_ / "y.npy").shape(), (Shape{4, 3}));
}

TEST_F(Predict, WrongUsageAndBadDataAreToldApart) {
  npy::write(directory_ / "x.npy", Tensor::zeros(DType::kF32, {2, 3, 4, 4}));
  write_bytes(directory_ / "bad.npy", "no array");
  write_bytes(directory_ / "bad.jpg", "no image");
  const std::vector<std::tuple<std::string, std::vector<std::string>, int, std::string>> cases = {
      {"x.npy", {"-o", "y.xlsx"}, 2, "the ending is none of"},
      {"x.npy", {"--output", "z"}, 2, "the model's outputs are y"},
      {"x.npy", {"--resize", "big"}, 0, ""},  // arrays are not resized
      {"bad.jpg", {"--resize", "big"}, 2, "is neither SIDE nor HEIGHTxWIDTH"},
      {"bad.npy", {}, 1, "bad.npy: is no .npy array"},
      {"bad.jpg", {}, 1, "bad.jpg"},
      {"missing.csv", {}, 1, "missing.csv"},
  };
  for (const auto& [data, more, code, text] : cases) {
    const ProcessResult run = predict(directory_ / data, more);
    EXPECT_EQ(run.exit_code, code) << data << ": " << run.error;
    EXPECT_THAT(run.error, HasSubstr(text));
  }
}

TEST_F(Predict, NothingIsLeftOfAFileThatWasNotFinished) {
  std::filesystem::create_directories(directory_.path() / "photos");
  std::filesystem::copy(image_path("photo.jpg"), directory_.path() / "photos/a.jpg");
  write_bytes(directory_ / "photos/b.jpg", "no image");
  const ProcessResult run = predict(directory_ / "photos", {"--batch", "1", "-o", directory_ / "y.csv"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.error, HasSubstr("b.jpg"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "y.csv"));
}

}  // namespace
}  // namespace thalweg::testing

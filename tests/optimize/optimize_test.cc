// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/optimize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/cpu.h"
#include "formats/onnx/small_model.h"
#include "support/error_text.h"
#include "support/op_check.h"
#include "support/temporary_directory.h"
#include "thalweg/model.h"
#include "thalweg/zoo.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace thalweg::testing;

OptimizeOptions quick(std::vector<ModelForm> forms, const Shape& shape, int batches = 2) {
  OptimizeOptions options;
  options.forms = std::move(forms);
  options.seconds = 0.0;
  for (int i = 0; i < batches; ++i) {
    options.data.push_back({random_tensor(DType::kF32, shape, static_cast<uint64_t>(i) + 1)});
  }
  return options;
}

std::string saved_resnet(const TemporaryDirectory& folder) {
  zoo::ImageOptions image;
  image.image_size = 64;
  image.classes = 10;
  image.width = 2;
  const std::string path = folder / "resnet.onnx";
  Model(zoo::resnet(18, image)).save(path);
  return path;
}

TEST(Optimize, Int8RunsOnIntegersAndAgrees) {
  const TemporaryDirectory folder;
  const std::string path = saved_resnet(folder), output = folder / "int8.onnx";
  for (const Calibration method : {Calibration::kMinMax, Calibration::kPercentile, Calibration::kEntropy}) {
    OptimizeOptions options = quick({ModelForm::kInt8}, {2, 3, 64, 64});
    options.calibration = method;
    options.max_drop = 1.0;
    const OptimizeReport report = optimize(path, output, options);
    EXPECT_EQ(report.forms[0].quantised_layers, 21);
    EXPECT_LT(report.forms[0].agreement.max_error, 0.2) << name_of(method);
    EXPECT_LT(std::filesystem::file_size(output), std::filesystem::file_size(path) / 3);
    const Model model = Model::load(output);
    const std::string explained = model.explain(options.data[0]);
    if (!cpu_has_int8_products()) continue;
    const std::string kernels = explained.substr(explained.find("each run:"));
    EXPECT_THAT(kernels, HasSubstr("quantized_conv"));
    EXPECT_THAT(kernels, HasSubstr("quantized_linear"));
    EXPECT_THAT(kernels, ::testing::Not(HasSubstr("  conv ")));
    EXPECT_THAT(kernels, ::testing::Not(HasSubstr("  add ")));
  }
}

TEST(Optimize, StoresWeightsInTwoBytes) {
  const TemporaryDirectory folder;
  const std::string path = saved_resnet(folder), output = folder / "narrow.onnx";
  for (const ModelForm form : {ModelForm::kF16, ModelForm::kBF16}) {
    const OptimizeReport report = optimize(path, output, quick({form}, {2, 3, 64, 64}));
    EXPECT_LT(std::filesystem::file_size(output), std::filesystem::file_size(path) * 6 / 10);
    EXPECT_LT(report.forms[0].agreement.max_error, form == ModelForm::kF16 ? 5e-3 : 5e-2);
    const Model model = Model::load(output);
    EXPECT_EQ(model.metadata().count("thalweg.precision"), form == ModelForm::kBF16 ? 1U : 0U);
  }
}

TEST(Optimize, FoldsBatchNormsAndKeepsTheAnswers) {
  const TemporaryDirectory folder;
  const std::string path = saved_resnet(folder), output = folder / "f32.onnx";
  const OptimizeOptions options = quick({ModelForm::kF32}, {2, 3, 64, 64});
  const OptimizeReport report = optimize(path, output, options);
  EXPECT_LT(report.forms[0].agreement.max_error, 1e-4);
  EXPECT_EQ(read_bytes(output).find("BatchNormalization"), std::string::npos);
  // The batch stays open.
  const Model model = Model::load(output);
  EXPECT_EQ(model.predict({random_tensor(DType::kF32, {5, 3, 64, 64}, 9)})[0].shape(), (Shape{5, 10}));
}

/// Writes x [N, 1, 4] * first * second, where one column of the hidden values is a thousand times larger than the
/// others and hardly counts.
std::string saved_products(const TemporaryDirectory& folder) {
  Tensor first = random_tensor(DType::kF32, {4, 8}, 1), second = random_tensor(DType::kF32, {8, 3}, 2);
  for (int64_t i = 0; i < 4; ++i) first.data<float>()[i * 8] *= 1e4f;
  for (int64_t i = 0; i < 3; ++i) second.data<float>()[i] *= 1e-7f;
  onnx::ModelProto model = small_model();
  model.graph.initializer.clear();
  for (const auto& [name, tensor] : {std::pair("first", first), std::pair("second", second)}) {
    onnx::TensorProto proto;
    proto.name = name;
    proto.dims = tensor.shape().dims();
    proto.data_type = onnx::DataType::kFloat;
    proto.has_raw_data = true;
    proto.raw_data = {static_cast<const char*>(tensor.raw()), tensor.num_bytes()};
    model.graph.initializer.push_back(proto);
  }
  model.graph.input = {value_info("x", {-1, 1, 4})};
  model.graph.output = {value_info("y", {-1, 1, 3})};
  model.graph.node = {{"one", "MatMul", "", "", {"x", "first"}, {"hidden"}, {}},
                      {"two", "MatMul", "", "", {"hidden", "second"}, {"y"}, {}}};
  std::string path = folder / "products.onnx";
  write_bytes(path, bytes_of(model));
  return path;
}

TEST(Optimize, LayersThatHurtStayInF32) {
  const TemporaryDirectory folder;
  const std::string path = saved_products(folder);
  OptimizeOptions options = quick({ModelForm::kInt8}, {16, 1, 4});
  options.max_drop = 0.05;
  const OptimizeReport report = optimize(path, folder / "int8.onnx", options);
  EXPECT_THAT(report.forms[0].kept_layers, ElementsAre("MatMul \"two\""));
  EXPECT_EQ(report.forms[0].quantised_layers, 1);
  EXPECT_TRUE(report.forms[0].accepted);
  options.max_drop = 0.0;
  EXPECT_THAT(error_text([&] { optimize(path, "", options); }), HasSubstr("no form agrees"));
}

onnx::AttributeProto integers(const std::string& name, std::vector<int64_t> values) {
  onnx::AttributeProto attribute;
  attribute.name = name;
  attribute.type = onnx::AttributeProto::Type::kInts;
  attribute.ints = std::move(values);
  return attribute;
}

onnx::AttributeProto number(const std::string& name, float value) {
  onnx::AttributeProto attribute;
  attribute.name = name;
  attribute.type = onnx::AttributeProto::Type::kFloat;
  attribute.f = value;
  return attribute;
}

/// y = softmax over the last two dimensions of pad(clip(x, -1, 1)) [N, 1, 4] * weight, as opset 9 writes it.
onnx::ModelProto old_model(const Tensor& weight) {
  onnx::ModelProto model = small_model();
  model.ir_version = 3;
  model.opset_import = {{"", 9}};
  onnx::TensorProto proto;
  proto.name = "weight";
  proto.dims = weight.shape().dims();
  proto.data_type = onnx::DataType::kFloat;
  proto.has_raw_data = true;
  proto.raw_data = {static_cast<const char*>(weight.raw()), weight.num_bytes()};
  model.graph.initializer = {proto};
  model.graph.input = {value_info("x", {-1, 1, 4}), value_info("weight", weight.shape().dims())};
  model.graph.output = {value_info("y", {-1, 1, 8})};
  model.graph.node = {
      {"clip", "Clip", "", "", {"x"}, {"a"}, {number("min", -1.0F), number("max", 1.0F)}},
      {"pad", "Pad", "", "", {"a"}, {"b"}, {integers("pads", {0, 0, 1, 0, 0, 1})}},
      {"cut", "Slice", "", "", {"b"}, {"c"}, {integers("starts", {1}), integers("ends", {5}), integers("axes", {2})}},
      {"flat", "Squeeze", "", "", {"c"}, {"d"}, {integers("axes", {1})}},
      {"product", "MatMul", "", "", {"d", "weight"}, {"e"}, {}},
      {"back", "Unsqueeze", "", "", {"e"}, {"f"}, {integers("axes", {1})}},
      {"share", "Softmax", "", "", {"f"}, {"y"}, {}}};
  return model;
}

TEST(Optimize, OldOpsetsAreRewritten) {
  const TemporaryDirectory folder;
  const std::string path = folder / "old.onnx", output = folder / "int8.onnx";
  const Tensor weight = random_tensor(DType::kF32, {4, 8}, 3);
  write_bytes(path, bytes_of(old_model(weight)));
  OptimizeOptions options = quick({ModelForm::kF32}, {5, 1, 4});
  EXPECT_LT(optimize(path, "", options).forms[0].agreement.max_error, 1e-6);
  options.forms = {ModelForm::kInt8};
  options.max_drop = 0.1;
  EXPECT_EQ(optimize(path, output, options).forms[0].quantised_layers, 1);
  EXPECT_EQ(Model::load(output).summary().opset, 13);
}

TEST(Optimize, NodesThatDoNothingGo) {
  const TemporaryDirectory folder;
  const std::string path = folder / "idle.onnx", output = folder / "f32.onnx";
  onnx::ModelProto model = old_model(random_tensor(DType::kF32, {4, 8}, 3));
  auto& nodes = model.graph.node;
  nodes.insert(nodes.begin() + 4, {{"same", "Identity", "", "", {"d"}, {"d1"}, {}},
                                   {"drop", "Dropout", "", "", {"d1"}, {"d2", "mask"}, {number("ratio", 0.5F)}}});
  nodes[6].input[0] = "d2";
  write_bytes(path, bytes_of(model));
  const OptimizeReport report = optimize(path, output, quick({ModelForm::kF32}, {5, 1, 4}));
  EXPECT_LT(report.forms[0].agreement.max_error, 1e-6);
  const auto operators = Model::load(output).summary().operators;
  EXPECT_EQ(operators.count("Identity") + operators.count("Dropout"), 0U);
  EXPECT_EQ(operators.count("MatMul"), 1U);
}

TEST(Optimize, NodesThatCannotBeRewrittenAreNamed) {
  const TemporaryDirectory folder;
  const std::string path = folder / "old.onnx";
  const Tensor weight = random_tensor(DType::kF32, {4, 8}, 3);
  onnx::ModelProto model = old_model(weight);
  onnx::AttributeProto scales = number("scales", 0);
  scales.type = onnx::AttributeProto::Type::kFloats;
  scales.floats = {1, 1, 1};
  model.opset_import = {{"", 8}};
  model.graph.node[0] = {"larger", "Upsample", "", "", {"x"}, {"a"}, {scales}};
  write_bytes(path, bytes_of(model));
  OptimizeOptions options = quick({ModelForm::kF32}, {5, 1, 4});
  EXPECT_EQ(optimize(path, "", options).chosen, 0U);
  options.forms = {ModelForm::kInt8};
  EXPECT_THAT(error_text([&] { optimize(path, "", options); }),
              ::testing::AllOf(HasSubstr("opset 13, the model has 8"), HasSubstr("\"larger\"")));
}

TEST(Optimize, RangesOfEachRunNeedNoData) {
  const TemporaryDirectory folder;
  Model(zoo::lenet()).save(folder / "lenet.onnx");
  OptimizeOptions options;
  options.forms = {ModelForm::kInt8Dynamic};
  options.seconds = 0.0;
  options.max_drop = 1.0;
  const OptimizeReport report = optimize(folder / "lenet.onnx", folder / "int8.onnx", options);
  EXPECT_GE(report.forms[0].quantised_layers, 2);
  EXPECT_LT(report.forms[0].agreement.max_error, 0.05);
}

TEST(Optimize, ReportsForPeopleAndPrograms) {
  OptimizeReport report;
  report.forms.resize(2);
  report.forms[1].form = ModelForm::kInt8;
  report.forms[1].kept_layers = {"Conv \"a\""};
  report.chosen = 1;
  EXPECT_THAT(to_json(report), HasSubstr("\"chosen\": \"int8\""));
  EXPECT_THAT(to_table(report), HasSubstr("* int8"));
}

TEST(Optimize, BadInputIsNamed) {
  const TemporaryDirectory folder;
  const std::string path = saved_products(folder);
  EXPECT_THAT(error_text([&] { optimize(folder / "none.onnx", ""); }), HasSubstr("none.onnx"));
  EXPECT_THAT(error_text([] { model_form_from_name("int4"); }), HasSubstr("int8-dynamic"));
  EXPECT_THAT(error_text([] { calibration_from_name("guess"); }), HasSubstr("percentile"));
  OptimizeOptions options;
  options.forms = {ModelForm::kInt8};
  EXPECT_THAT(error_text([&] { optimize(path, "", options); }), HasSubstr("int8 needs data"));
  options.data = {{Tensor::full<float>({1, 1, 4}, NAN)}};
  EXPECT_THAT(error_text([&] { optimize(path, "", options); }), HasSubstr("not finite"));
  options.data = {{Tensor::full<float>({1, 7}, 1.0f)}};
  EXPECT_THAT(error_text([&] { optimize(path, "", options); }), HasSubstr("takes f32"));
}

}  // namespace
}  // namespace thalweg

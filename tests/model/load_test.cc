// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "formats/onnx/small_model.h"
#include "support/error_text.h"
#include "support/op_check.h"
#include "support/temporary_directory.h"
#include "thalweg/model.h"

namespace thalweg {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace thalweg::testing;

onnx::NodeProto node(const std::string& op, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs) {
  return {op + "_node", op, "", "", inputs, outputs, {}};
}

onnx::AttributeProto integer(const std::string& name, int64_t value) {
  onnx::AttributeProto attribute;
  attribute.name = name;
  attribute.type = onnx::AttributeProto::Type::kInt;
  attribute.i = value;
  return attribute;
}

/// A model without initialisers.
onnx::ModelProto model_of(std::vector<onnx::NodeProto> nodes, std::vector<onnx::ValueInfoProto> inputs,
                          std::vector<onnx::ValueInfoProto> outputs) {
  onnx::ModelProto model = small_model();
  model.graph.initializer.clear();
  model.graph.node = std::move(nodes);
  model.graph.input = std::move(inputs);
  model.graph.output = std::move(outputs);
  return model;
}

TEST(LoadedModel, DescribesAndRunsForAnyBatch) {
  const Model model = Model::load_bytes(bytes_of(small_model()));
  ASSERT_EQ(model.inputs().size(), 1U);
  EXPECT_EQ(model.inputs()[0].name, "x");
  EXPECT_EQ(model.inputs()[0].dtype, DType::kF32);
  EXPECT_EQ(model.inputs()[0].shape, (Shape{kFree, 2}));
  EXPECT_EQ(model.inputs()[0].dimension_names[0], "N");
  EXPECT_EQ(model.outputs()[0].name, "y");
  EXPECT_EQ(model.metadata().at("author"), "a test");
  EXPECT_EQ(model.summary().parameters, 2);
  EXPECT_EQ(model.summary().weight_bytes, 2 * sizeof(float));
  for (int64_t batch = 1; batch <= 3; ++batch) {
    const Tensor y = model.predict({Tensor::full<float>({batch, 2}, 1.5F)}).at(0);
    ASSERT_EQ(y.shape(), (Shape{batch, 2}));
    EXPECT_EQ(y.data<float>()[0], 2.5F);
    EXPECT_EQ(y.data<float>()[1], 0.0F);
  }
  EXPECT_THAT(model.explain({Tensor::full<float>({4, 2}, 1.0F)}), HasSubstr("ms"));
}

TEST(LoadedModel, InputsThatDoNotFitAreNamed) {
  const Model model = Model::load_bytes(bytes_of(small_model()));
  EXPECT_THAT(error_text([&] { model.predict({}); }), HasSubstr("takes 1 inputs, got 0"));
  EXPECT_THAT(error_text([&] {
                model.predict({Tensor::full<float>({1, 3}, 0.0F)});
              }),
              AllOf(HasSubstr("\"x\""), HasSubstr("[1,3]")));
  EXPECT_THAT(error_text([&] { model.predict({Tensor::full<double>({1, 2}, 0.0)}); }), HasSubstr("f64"));
}

TEST(LoadedModel, OneErrorListsAllThatIsUnsupported) {
  onnx::ModelProto model = small_model();
  model.graph.node.push_back({"first", "Frobnicate", "", "", {"s"}, {"t"}, {}});
  model.graph.node.push_back({"second", "Add", "com.example", "", {"s", "s"}, {"u"}, {}});
  EXPECT_THAT(error_text([&] { Model::load_bytes(bytes_of(model)); }),
              AllOf(HasSubstr("2 nodes are not supported"), HasSubstr("Frobnicate \"first\""),
                    HasSubstr("com.example.Add \"second\"")));
}

TEST(LoadedModel, GraphsThatCannotBeOrderedAreErrors) {
  onnx::ModelProto cyclic = small_model();
  cyclic.graph.node[0].input = {"y", "b"};
  EXPECT_THAT(error_text([&] {
                Model::load_bytes(bytes_of(cyclic)).predict({Tensor::full<float>({1, 2}, 0.0F)});
              }),
              AllOf(HasSubstr("Add \"sum\""), HasSubstr("depends on its own result")));
  onnx::ModelProto missing = small_model();
  missing.graph.node[0].input = {"nowhere", "b"};
  EXPECT_THAT(error_text([&] {
                Model::load_bytes(bytes_of(missing)).predict({Tensor::full<float>({1, 2}, 0.0F)});
              }),
              HasSubstr("nowhere"));
  onnx::ModelProto twice = small_model();
  twice.graph.node[1].output = {"s"};
  EXPECT_THAT(error_text([&] { Model::load_bytes(bytes_of(twice)); }), HasSubstr("makes \"s\" as well"));
}

TEST(LoadedModel, OpsetsOutOfRangeAreRefused) {
  onnx::ModelProto model = small_model();
  model.opset_import = {{"", 0}};
  EXPECT_THAT(error_text([&] { Model::load_bytes(bytes_of(model)); }), HasSubstr("opset 0"));
  model.opset_import = {{"", 1000}};
  EXPECT_THAT(error_text([&] { Model::load_bytes(bytes_of(model)); }), HasSubstr("opset 1000"));
}

/// Before opset 7 nodes said whether operands are lined up, and from which dimension on.
TEST(LoadedModel, OldOpsetsLineOperandsUpWhereTheNodeSays) {
  onnx::NodeProto add = node("Add", {"x", "b"}, {"y"});
  add.attribute = {integer("broadcast", 1), integer("axis", 0)};
  onnx::ModelProto model = model_of({add}, {value_info("x", {2, 3}), value_info("b", {2})}, {value_info("y", {2, 3})});
  model.opset_import = {{"", 6}};
  const Tensor x = Tensor::zeros(DType::kF32, {2, 3}), b = Tensor::from<float>({2}, {1, 2});
  const Tensor y = Model::load_bytes(bytes_of(model)).predict({x, b})[0];
  EXPECT_EQ(y.data<float>()[2], 1.0F);
  EXPECT_EQ(y.data<float>()[3], 2.0F);
  model.graph.node[0].attribute[1] = integer("axis", 5);
  EXPECT_THAT(error_text([&] {
                Model::load_bytes(bytes_of(model)).predict({x, b});
              }),
              AllOf(HasSubstr("Add_node"), HasSubstr("axis 5")));
}

TEST(LoadedModel, NodesInAnyOrder) {
  onnx::ModelProto model = small_model();
  std::swap(model.graph.node[0], model.graph.node[1]);
  const Tensor y = Model::load_bytes(bytes_of(model)).predict({Tensor::full<float>({1, 2}, 3.0F)}).at(0);
  EXPECT_EQ(y.data<float>()[0], 4.0F);
}

TEST(LoadedModel, ShapesThatTheModelComputes) {
  // y = reshape(x, shape(z)): the shape of one input decides that of the result.
  const onnx::ModelProto model =
      model_of({node("Shape", {"z"}, {"s"}), node("Reshape", {"x", "s"}, {"y"})},
               {value_info("x", {-1}), value_info("z", {-1, -1})}, {value_info("y", {-1, -1})});
  const Model loaded = Model::load_bytes(bytes_of(model));
  const Tensor x = Tensor::full<float>({6}, 1.0F);
  EXPECT_EQ(loaded.predict({x, Tensor::full<float>({2, 3}, 0.0F)})[0].shape(), (Shape{2, 3}));
  EXPECT_EQ(loaded.predict({x, Tensor::full<float>({6, 1}, 0.0F)})[0].shape(), (Shape{6, 1}));
}

TEST(LoadedModel, ShapesThatAreInputs) {
  const onnx::ModelProto model =
      model_of({node("Reshape", {"x", "s"}, {"y"})},
               {value_info("x", {6}), value_info("s", {2}, onnx::DataType::kInt64)}, {value_info("y", {-1, -1})});
  const Model loaded = Model::load_bytes(bytes_of(model));
  const Tensor x = Tensor::full<float>({6}, 1.0F);
  EXPECT_EQ(loaded.predict({x, Tensor::from<int64_t>({2}, {2, 3})})[0].shape(), (Shape{2, 3}));
  EXPECT_EQ(loaded.predict({x, Tensor::from<int64_t>({2}, {3, -1})})[0].shape(), (Shape{3, 2}));
}

TEST(LoadedModel, ShapesThatDependOnTheData) {
  // Positions of elements above 0, doubled, then reshaped by their own number: three stages.
  const onnx::ModelProto model =
      model_of({node("Relu", {"x"}, {"r"}), node("NonZero", {"r"}, {"n"}), node("Add", {"n", "n"}, {"d"}),
                node("Shape", {"d"}, {"s"}), node("Expand", {"one", "s"}, {"y"})},
               {value_info("x", {-1}), value_info("one", {1})}, {value_info("y", {-1, -1}), value_info("d", {-1, -1})});
  const Model loaded = Model::load_bytes(bytes_of(model));
  const Tensor one = Tensor::full<float>({1}, 7.0F);
  const auto results = loaded.predict({Tensor::from<float>({4}, {-1, 2, 0, 3}), one});
  EXPECT_EQ(results[0].shape(), (Shape{1, 2}));
  EXPECT_EQ(results[1].data<int64_t>()[0], 2);
  EXPECT_EQ(results[1].data<int64_t>()[1], 6);
  EXPECT_EQ(loaded.predict({Tensor::from<float>({4}, {1, 2, 0, 3}), one})[0].shape(), (Shape{1, 3}));
}

onnx::TensorProto integer_initializer(const std::string& name, int64_t value) {
  onnx::TensorProto tensor;
  tensor.name = name;
  tensor.data_type = onnx::DataType::kInt64;
  tensor.dims = {1};
  tensor.int_data = {value};
  return tensor;
}

TEST(LoadedModel, TheLargestIntegerMeansNoLimit) {
  // What PyTorch writes for "all boxes".
  onnx::ModelProto model = model_of({node("NonMaxSuppression", {"boxes", "scores", "most"}, {"kept"})},
                                    {value_info("boxes", {1, 2, 4}), value_info("scores", {1, 1, 2})},
                                    {value_info("kept", {-1, 3}, onnx::DataType::kInt64)});
  model.graph.initializer = {integer_initializer("most", std::numeric_limits<int64_t>::max())};
  const Model loaded = Model::load_bytes(bytes_of(model));
  const Tensor boxes = Tensor::from<float>({1, 2, 4}, {0, 0, 1, 1, 2, 2, 3, 3});
  EXPECT_EQ(loaded.predict({boxes, Tensor::from<float>({1, 1, 2}, {0.5F, 0.6F})})[0].shape(), (Shape{2, 3}));
}

TEST(LoadedModel, AskingForTooMuchMemoryIsAnError) {
  onnx::ModelProto model = model_of({node("ConstantOfShape", {"n"}, {"y"})}, {}, {value_info("y", {-1})});
  model.graph.initializer = {integer_initializer("n", int64_t{1} << 39)};
  EXPECT_THAT(error_text([&] { Model::load_bytes(bytes_of(model)).predict({}); }),
              AllOf(HasSubstr("f32[549755813888]"), HasSubstr("more than the limit")));
}

TEST(LoadedModel, ThreadsShareAModel) {
  const Model model =
      Model::load_bytes(bytes_of(small_model()), {.precision = Precision::kF32, .threads = 1, .max_programs = 2});
  std::vector<std::thread> threads;
  std::vector<float> sums(4, 0.0F);
  for (size_t t = 0; t < sums.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int64_t i = 0; i < 50; ++i) {
        const Tensor y = model.predict({Tensor::full<float>({1 + i % 3, 2}, static_cast<float>(t))}).at(0);
        sums[t] += y.data<float>()[0];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < sums.size(); ++t) EXPECT_EQ(sums[t], 50.0F * static_cast<float>(t + 1));
}

TEST(LoadedModel, EveryTruncationOfAFileIsAnErrorOrAModel) {
  const TemporaryDirectory directory;
  const std::string whole = bytes_of(small_model());
  const std::string path = directory / "cut.onnx";
  for (size_t length = 0; length < whole.size(); ++length) {
    write_bytes(path, whole.substr(0, length));
    const std::string text = error_text([&] { Model::load(path); });
    EXPECT_TRUE(text == "no error" || text.find(path) != std::string::npos) << length << ": " << text;
  }
  EXPECT_THAT(error_text([&] { Model::load(directory / "none.onnx"); }), HasSubstr("none.onnx"));
}

TEST(LoadedModel, AttributesOfAnotherKindAreErrors) {
  onnx::ModelProto model = small_model();
  model.graph.node[1] = node("Softmax", {"s"}, {"y"});
  model.graph.node[1].attribute = {integer("axis", 5)};
  EXPECT_THAT(error_text([&] {
                Model::load_bytes(bytes_of(model)).predict({Tensor::full<float>({1, 2}, 0.0F)});
              }),
              AllOf(HasSubstr("Softmax \"Softmax_node\""), HasSubstr("axis 5 does not exist")));
}

TEST(LoadedModel, AttributesThatOnlyTheEngineSetsAreNotReadFromFiles) {
  onnx::ModelProto model = small_model();
  model.graph.node[1].attribute = {integer("captures", 5), integer("opset", -7), integer("learns", 1),
                                   integer("body.captures", 1)};
  const Tensor x = Tensor::full<float>({1, 2}, 1.5F);
  const Tensor y = Model::load_bytes(bytes_of(model)).predict({x}).at(0);
  EXPECT_EQ(y.data<float>()[0], 2.5F);
  EXPECT_EQ(y.data<float>()[1], 0.0F);
}

}  // namespace
}  // namespace thalweg

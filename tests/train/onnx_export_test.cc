// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Models written as ONNX and read again give the same answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error_text.h"
#include "support/op_check.h"
#include "support/temporary_directory.h"
#include "thalweg/model.h"
#include "thalweg/ops.h"
#include "train/zoo_cases.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;
using namespace thalweg::testing;

class ZooExport : public ::testing::TestWithParam<const char*> {};

TEST_P(ZooExport, SameAnswersAfterARoundTrip) {
  const TemporaryDirectory directory;
  Model model(zoo::build(GetParam(), small_zoo_options(GetParam())));
  const std::string path = directory / "model.onnx";
  model.save(path, {{"classes", "a,b"}});
  const Model read = Model::load(path);
  EXPECT_EQ(read.metadata().at("classes"), "a,b");
  ASSERT_EQ(read.inputs().size(), model.graph().inputs().size());
  for (size_t i = 0; i < read.inputs().size(); ++i) {
    EXPECT_EQ(read.inputs()[i].name, model.graph().inputs()[i]->name());
    EXPECT_EQ(read.inputs()[i].shape, model.graph().inputs()[i]->shape());
  }
  for (const int64_t batch : {1, 3}) {
    const std::vector<Tensor> inputs = zoo_inputs(model.graph(), batch);
    const std::vector<Tensor> expected = model.predict(inputs), actual = read.predict(inputs);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) expect_close(actual[i], expected[i], 1e-5, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(All, ZooExport,
                         ::testing::Values("lenet", "alexnet", "vgg11", "inception_v1", "resnet18", "resnet50",
                                           "mobilenet_v2", "lstm_text", "ncf", "convlstm", "transformer"),
                         [](const auto& test) { return std::string(test.param); });

TEST(OnnxExport, RepeatedRunsWriteTheSameBytes) {
  const TemporaryDirectory directory;
  Model model(zoo::lenet());
  model.save(directory / "a.onnx");
  model.save(directory / "b.onnx");
  EXPECT_EQ(read_bytes(directory / "a.onnx"), read_bytes(directory / "b.onnx"));
}

TEST(OnnxExport, ListsAllThatOnnxDoesNotHave) {
  const TemporaryDirectory directory;
  auto graph = std::make_unique<Graph>("odd");
  Value* x = graph->input("x", {DType::kF32, {4}});
  graph->mark_output(ops::element_count(x), "count");
  graph->mark_output(ops::modulo(x, x, true), "rest");
  const Model model(std::move(graph));
  EXPECT_THAT(error_text([&] { model.save(directory / "odd.onnx"); }),
              ::testing::AllOf(HasSubstr("element_count"), HasSubstr("modulo")));
  EXPECT_EQ(directory.num_files(), 0U);
}

TEST(OnnxExport, OutputsThatNoNodeMakes) {
  const TemporaryDirectory directory;
  auto graph = std::make_unique<Graph>("passes");
  Value* x = graph->input("x", {DType::kF32, {2}});
  graph->mark_output(x);
  graph->mark_output(ops::relu(x), "y");
  const Model model(std::move(graph));
  model.save(directory / "m.onnx");
  const auto results = Model::load(directory / "m.onnx").predict({Tensor::from<float>({2}, {-1, 2})});
  EXPECT_EQ(results.at(0).data<float>()[0], -1.0F);
  EXPECT_EQ(results.at(1).data<float>()[0], 0.0F);
}

}  // namespace
}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Models written as ONNX and read again give the same answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error_text.h"
#include "support/op_check.h"
#include "support/temporary_directory.h"
#include "thalweg/inference.h"
#include "thalweg/model.h"
#include "thalweg/ops.h"
#include "thalweg/zoo.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;
using namespace thalweg::testing;

struct ZooCase {
  const char* name;
  Attributes options;
};

std::vector<Tensor> inputs_of(const Graph& graph, int64_t batch) {
  std::vector<Tensor> inputs;
  for (const Value* input : graph.inputs()) {
    Shape shape = input->shape();
    for (int d = 0; d < shape.rank(); ++d) {
      if (shape[d] == kFree) shape[d] = d == 0 ? batch : 7;
    }
    inputs.push_back(random_tensor(input->dtype(), shape, 3 + inputs.size(), 0, is_floating(input->dtype()) ? 1 : 5));
  }
  return inputs;
}

class ZooExport : public ::testing::TestWithParam<ZooCase> {};

TEST_P(ZooExport, SameAnswersAfterARoundTrip) {
  const TemporaryDirectory directory;
  Model model(zoo::build(GetParam().name, GetParam().options));
  const std::string path = directory / "model.onnx";
  model.save(path, {{"classes", "a,b"}});
  const InferenceModel read = InferenceModel::load(path);
  EXPECT_EQ(read.metadata().at("classes"), "a,b");
  ASSERT_EQ(read.inputs().size(), model.graph().inputs().size());
  for (size_t i = 0; i < read.inputs().size(); ++i) {
    EXPECT_EQ(read.inputs()[i].name, model.graph().inputs()[i]->name());
    EXPECT_EQ(read.inputs()[i].shape, model.graph().inputs()[i]->shape());
  }
  for (const int64_t batch : {1, 3}) {
    const std::vector<Tensor> inputs = inputs_of(model.graph(), batch);
    const std::vector<Tensor> expected = model.predict(inputs), actual = read.run(inputs);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) expect_close(actual[i], expected[i], 1e-5, GetParam().name);
  }
}

const Attributes kNarrow{{"width", int64_t{8}}, {"image_size", int64_t{64}}, {"classes", int64_t{7}}};
/// These pool to a size that smaller pictures do not divide into.
const Attributes kWhole{{"width", int64_t{16}}, {"classes", int64_t{7}}};
INSTANTIATE_TEST_SUITE_P(
    All, ZooExport,
    ::testing::Values(ZooCase{"lenet", {}}, ZooCase{"alexnet", kWhole}, ZooCase{"vgg11", kWhole},
                      ZooCase{"inception_v1", kNarrow}, ZooCase{"resnet18", kNarrow}, ZooCase{"resnet50", kNarrow},
                      ZooCase{"lstm_text", {{"vocab", int64_t{20}}, {"embed", int64_t{8}}, {"hidden", int64_t{16}}}},
                      ZooCase{"ncf", {{"users", int64_t{30}}, {"items", int64_t{20}}}},
                      ZooCase{"convlstm", {{"height", int64_t{8}}, {"width", int64_t{8}}}},
                      ZooCase{"transformer",
                              {{"vocab", int64_t{20}},
                               {"dim", int64_t{16}},
                               {"heads", int64_t{2}},
                               {"ffn", int64_t{32}},
                               {"layers", int64_t{2}},
                               {"time", int64_t{12}}}}),
    [](const auto& test) { return std::string(test.param.name); });

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
  const auto results = InferenceModel::load(directory / "m.onnx").run({Tensor::from<float>({2}, {-1, 2})});
  EXPECT_EQ(results.at(0).data<float>()[0], -1.0F);
  EXPECT_EQ(results.at(1).data<float>()[0], 0.0F);
}

}  // namespace
}  // namespace thalweg

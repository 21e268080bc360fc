// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/fit_data.h"

#include <gmock/gmock.h>

#include <limits>

#include "thalweg/input_error.h"
#include "thalweg/losses.h"
#include "thalweg/nn.h"

namespace thalweg {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A linear layer of 3 numbers with so many outputs.
std::unique_ptr<Graph> linear_graph(int64_t outputs) {
  auto graph = std::make_unique<Graph>("linear");
  Value* x = graph->input("x", {DType::kF32, {kFree, 3}});
  graph->mark_output(nn::Linear(3, outputs).forward(nn::Scope(*graph), x));
  return graph;
}

template <typename Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no InputError";
}

TEST(FitData, JoinsColumnsOfAnyType) {
  const Tensor joined =
      join_columns({{"a", Tensor::from<int64_t>({2}, {1, 2})}, {"b", Tensor::from<double>({2}, {0.5, 1.5})}});
  EXPECT_EQ(joined.type(), (TensorType{DType::kF32, {2, 2}}));
  const float* values = joined.data<float>();
  EXPECT_THAT(std::vector<float>(values, values + 4), testing::ElementsAre(1, 0.5, 2, 1.5));
  const std::string message = message_of([] {
    join_columns({{"a", Tensor::from<float>({2}, {1, 2})}, {"b", Tensor::from<float>({3}, {1, 2, 3})}});
  });
  EXPECT_EQ(message, "column 'b' has shape [3]; the first one has 2 rows");
}

TEST(FitData, SaysWhereNanIs) {
  const Tensor values = Tensor::from<double>({2, 2}, {1, 2, kNan, kNan});
  EXPECT_EQ(message_of([&] {
              require_no_nan(values, "input 'x'", {"age", "height"});
            }),
            "input 'x' holds NaN in column 'age', row 1 and 1 more: leave such rows out or fill them");
  EXPECT_THAT(message_of([&] { require_no_nan(values, "x"); }), testing::HasSubstr("column 0, row 1"));
  EXPECT_NO_THROW(require_no_nan(Tensor::from<float>({2}, {1, 2}), "x"));
}

TEST(FitData, ConvertsInputsWithoutLoss) {
  const auto graph = linear_graph(2);
  const Value& x = *graph->inputs()[0];
  EXPECT_EQ(fit_input(Tensor::zeros(DType::kF64, {4, 3}), x).dtype(), DType::kF32);
  EXPECT_EQ(fit_input(Tensor::zeros(DType::kI32, {4, 3}), x).dtype(), DType::kF32);
  EXPECT_EQ(message_of([&] {
              fit_input(Tensor::zeros(DType::kF32, {4, 5}), x);
            }),
            "input 'x' takes f32[?,3], got f32[4,5]");
  Graph tokens("tokens");
  Value* ids = tokens.input("ids", {DType::kI64, {kFree}});
  EXPECT_EQ(fit_input(Tensor::zeros(DType::kI32, {4}), *ids).dtype(), DType::kI64);
  EXPECT_THAT(message_of([&] { fit_input(Tensor::zeros(DType::kF32, {4}), *ids); }), testing::HasSubstr("takes i64"));
}

TEST(FitData, FindsTheTargetThatTheLossTakes) {
  const auto classes = linear_graph(3);
  EXPECT_EQ(fit_target(Tensor::zeros(DType::kI32, {4}), *classes, losses::by_name("cross_entropy")).type(),
            (TensorType{DType::kI64, {4}}));
  const auto number = linear_graph(1);
  EXPECT_EQ(fit_target(Tensor::zeros(DType::kI64, {4}), *number, losses::by_name("mse")).type(),
            (TensorType{DType::kF32, {4, 1}}));
  EXPECT_EQ(fit_target(Tensor::zeros(DType::kF64, {4, 1}), *number, losses::by_name("mse")).type(),
            (TensorType{DType::kF32, {4, 1}}));
  EXPECT_THAT(message_of([&] {
                fit_target(Tensor::from<float>({2}, {0, 0.5}), *classes, losses::by_name("cross_entropy"));
              }),
              testing::HasSubstr("the loss does not take a target of f32[2]"));
}

TEST(FitData, TakesClassesAsNumbersOfAnyKindOrAsAColumn) {
  const auto classes = linear_graph(3);
  const Loss loss = losses::by_name("cross_entropy");
  const TensorType expected{DType::kI64, {3}};
  EXPECT_EQ(fit_target(Tensor::from<double>({3}, {0, 2, 1}), *classes, loss).type(), expected);
  EXPECT_EQ(fit_target(Tensor::from<int64_t>({3, 1}, {0, 2, 1}), *classes, loss).type(), expected);
}

TEST(FitData, NamesAClassThatTheModelDoesNotHave) {
  const auto classes = linear_graph(3);
  const Loss loss = losses::by_name("cross_entropy");
  const std::string message = message_of([&] { fit_target(Tensor::from<int64_t>({3}, {0, 2, 3}), *classes, loss); });
  EXPECT_EQ(message, "the target holds class 3 in row 2; the model has the classes 0 to 2");
  EXPECT_THAT(message_of([&] { fit_target(Tensor::from<int64_t>({1}, {-1}), *classes, loss); }),
              testing::HasSubstr("class -1 in row 0"));
  EXPECT_NO_THROW(fit_target(Tensor::from<int64_t>({2}, {-100, 1}), *classes, loss)) << "ignored";
}

TEST(FitData, TellsTheClassesOfTargetsThatAreSuch) {
  const auto graph = linear_graph(4);
  const std::vector<AcceptedTarget> classes = accepted_targets(*graph, losses::by_name("cross_entropy"));
  ASSERT_FALSE(classes.empty());
  EXPECT_EQ(classes[0].type, (TensorType{DType::kI64, {}}));
  ASSERT_TRUE(classes[0].classes);
  EXPECT_EQ(classes[0].classes->count, 4);
  EXPECT_TRUE(classes[0].classes->contain(3));
  EXPECT_TRUE(classes[0].classes->contain(-100));
  EXPECT_FALSE(classes[0].classes->contain(4));
  EXPECT_FALSE(classes[0].classes->contain(-1));
  for (const AcceptedTarget& target : accepted_targets(*graph, losses::by_name("mse"))) EXPECT_FALSE(target.classes);
}

TEST(FitData, LooksForClassesInDatasets) {
  const auto graph = linear_graph(2);
  const Loss loss = losses::by_name("cross_entropy");
  const auto said_of = [&](const Tensor& labels) {
    const data::TensorDataset data({Tensor::zeros(DType::kF32, {3, 3})}, {labels});
    return message_of([&] { require_known_classes(data, *graph, loss); });
  };
  EXPECT_EQ(said_of(Tensor::from<int64_t>({3}, {0, 1, -100})), "no InputError");
  EXPECT_EQ(said_of(Tensor::from<int64_t>({3}, {0, 2, 1})),
            "the target holds class 2 in row 1; the model has the classes 0 to 1");
  // One that says its classes, and must not be read.
  class Told : public data::Dataset {
   public:
    int64_t size() const override { return 1; }
    std::vector<TensorType> input_types() const override { return {{DType::kF32, {kFree, 3}}}; }
    std::vector<TensorType> target_types() const override { return {{DType::kI64, {kFree}}}; }
    void read(std::span<const int64_t>, const data::Draw&, const data::Batch&, int64_t) const override {
      ADD_FAILURE() << "was read";
    }
    std::optional<int64_t> highest_class() const override { return 4; }
  };
  EXPECT_EQ(message_of([&] { require_known_classes(Told(), *graph, loss); }),
            "the data have the classes 0 to 4; the model has the classes 0 to 1");
  EXPECT_NO_THROW(require_known_classes(Told(), *linear_graph(5), loss));
}

TEST(FitData, ReadsTheTargetsOfDatasetsAsTheLossTakesThem) {
  const auto made = [](const Tensor& target) {
    return std::make_shared<data::TensorDataset>(std::vector<Tensor>{Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6})},
                                                 std::vector<Tensor>{target});
  };
  const auto target_of = [](const data::Dataset& data, int64_t sample) {
    const data::Batch batch = data.fetch(std::vector<int64_t>{sample});
    EXPECT_EQ(batch.inputs.at(0).data<float>()[0], sample == 0 ? 1 : 4);
    return batch.targets.at(0).to(DType::kF64).data<double>()[0];
  };
  const auto number = linear_graph(1);
  const auto column = fit_target(made(Tensor::from<float>({2}, {0.5, 7})), *number, losses::by_name("mse"));
  EXPECT_EQ(column->target_types(), (std::vector<TensorType>{{DType::kF32, {kFree, 1}}}));
  EXPECT_EQ(target_of(*column, 1), 7);
  EXPECT_TRUE(column->is_in_memory());
  const auto whole = fit_target(made(Tensor::from<int64_t>({2}, {3, 9})), *number, losses::by_name("mse"));
  EXPECT_EQ(whole->target_types(), (std::vector<TensorType>{{DType::kF32, {kFree, 1}}}));
  EXPECT_EQ(target_of(*whole, 1), 9);
  const auto classes = linear_graph(3);
  const Loss loss = losses::by_name("cross_entropy");
  const auto labels = fit_target(made(Tensor::from<float>({2, 1}, {2, 5})), *classes, loss);
  EXPECT_EQ(labels->target_types(), (std::vector<TensorType>{{DType::kI64, {kFree}}}));
  EXPECT_EQ(target_of(*labels, 0), 2);
  EXPECT_EQ(message_of([&] { require_known_classes(*labels, *classes, loss); }),
            "the target holds class 5 in row 1; the model has the classes 0 to 2");
  const auto broken = fit_target(made(Tensor::from<float>({2}, {0, 0.5})), *classes, loss);
  EXPECT_THAT(message_of([&] { target_of(*broken, 1); }),
              testing::HasSubstr("the target of sample 1 is 0.5, but the loss takes numbers of classes"));
}

TEST(FitData, LeavesDatasetsThatFitOrCannotAsTheyAre) {
  const auto classes = linear_graph(3);
  const Loss loss = losses::by_name("cross_entropy");
  const std::vector<Tensor> inputs = {Tensor::zeros(DType::kF32, {2, 3})};
  const Tensor labels = Tensor::zeros(DType::kI32, {2});
  for (const std::vector<Tensor>& targets :
       {std::vector<Tensor>{labels}, {}, {labels, labels}, {Tensor::zeros(DType::kF32, {2, 7, 7})}}) {
    const data::DatasetPtr data = std::make_shared<data::TensorDataset>(inputs, targets);
    EXPECT_EQ(fit_target(data, *classes, loss), data);
  }
}

TEST(FitData, ComparesRows) {
  const Tensor two = Tensor::zeros(DType::kF32, {2, 3}), three = Tensor::zeros(DType::kI64, {3});
  EXPECT_EQ(message_of([&] {
              require_same_rows({two, three}, {"input 'x'", "the target"});
            }),
            "the target has 3 rows, input 'x' has 2");
}

TEST(FitData, PredictsInBatches) {
  Model model(linear_graph(2));
  Tensor x(DType::kF32, {7, 3});
  for (int64_t i = 0; i < 21; ++i) x.data<float>()[i] = static_cast<float>(i);
  const Tensor whole = model.predict({x})[0], parts = predict_in_batches(model, {x}, 3)[0];
  ASSERT_EQ(parts.type(), whole.type());
  const Tensor read = predict_in_batches(model, data::TensorDataset({x}), 3)[0];
  ASSERT_EQ(read.type(), whole.type());
  for (int64_t i = 0; i < 14; ++i) {
    EXPECT_NEAR(parts.data<float>()[i], whole.data<float>()[i], 1e-4);
    EXPECT_EQ(read.data<float>()[i], parts.data<float>()[i]);
  }
}

}  // namespace
}  // namespace thalweg

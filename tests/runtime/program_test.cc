// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/program.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <thread>

#include "support/op_check.h"
#include "thalweg/autodiff.h"
#include "thalweg/ops.h"

namespace thalweg {
namespace {

using testing::random_tensor;

/// loss = mean((x * w - t)^2), whose gradient for w is known in closed form.
struct Regression {
  Graph graph{"regression"};
  Value* x = graph.input("x", {DType::kF32, {4, 3}});
  Value* t = graph.input("t", {DType::kF32, {4, 3}});
  Value* w = graph.parameter("w", Tensor::from<float>({3}, {1, 2, 3}));
  Value* loss = ops::reduce_mean(ops::square(ops::sub(ops::mul(x, w), t)));
  Regression() { graph.mark_output(loss); }
};

TEST(Program, GradientsArriveInTheCallback) {
  Regression model;
  add_gradients(model.graph, model.loss);
  const Tensor x = random_tensor(DType::kF32, {4, 3}, 1);
  const Tensor t = random_tensor(DType::kF32, {4, 3}, 2);
  auto graph = model.graph.clone();
  auto variables = std::make_shared<Variables>(*graph);
  CompileOptions options;
  options.training = true;
  Session session(Program::compile(std::move(graph), variables, options));
  std::vector<float> gradient;
  session.run(std::vector<Tensor>{x, t}, [&](const GradientView& view) {
    EXPECT_EQ(variables->name(view.variable), "w");
    gradient.assign(view.dense, view.dense + view.num_floats);
  });
  ASSERT_EQ(gradient.size(), 3U);
  for (int c = 0; c < 3; ++c) {
    double expected = 0;
    for (int r = 0; r < 4; ++r) {
      const double input = x.data<float>()[r * 3 + c];
      expected += 2 * (input * (c + 1) - t.data<float>()[r * 3 + c]) * input / 12;
    }
    EXPECT_NEAR(gradient[static_cast<size_t>(c)], expected, 1e-6);
  }
}

TEST(Program, UpdatesDuringBackwardDoNotDisturbIt) {
  // w is read twice; the callback destroys it at once, which must not change the gradient that comes out.
  Graph graph("twice");
  Value* x = graph.input("x", {DType::kF32, {8}});
  Value* w = graph.parameter("w", random_tensor(DType::kF32, {8}, 3));
  Value* loss = ops::reduce_sum(ops::mul(ops::sigmoid(ops::mul(x, w)), w));
  graph.mark_output(loss);
  add_gradients(graph, loss);
  const auto gradient_with = [&](bool destroy) {
    auto copy = graph.clone();
    auto variables = std::make_shared<Variables>(*copy);
    CompileOptions options;
    options.training = true;
    Session session(Program::compile(std::move(copy), variables, options));
    std::vector<float> seen;
    session.run(std::vector<Tensor>{random_tensor(DType::kF32, {8}, 4)}, [&](const GradientView& view) {
      if (destroy) std::memset(variables->data(view.variable), 0xff, 8 * sizeof(float));
      seen.assign(view.dense, view.dense + view.num_floats);
    });
    return seen;
  };
  EXPECT_EQ(gradient_with(true), gradient_with(false));
}

TEST(Program, ChangesToGradientsThatOwnTheirMemoryDisturbNothing) {
  // p and q have the same gradient, which is also read on the way to that of w.
  Graph graph("shared");
  Value* x = graph.input("x", {DType::kF32, {8}});
  Value* p = graph.parameter("p", random_tensor(DType::kF32, {8}, 5));
  Value* q = graph.parameter("q", random_tensor(DType::kF32, {8}, 6));
  Value* w = graph.parameter("w", random_tensor(DType::kF32, {8}, 7));
  Value* sum = ops::add(ops::add(p, q), ops::mul(x, w));
  Value* loss = ops::reduce_sum(ops::square(sum));
  graph.mark_output(loss);
  add_gradients(graph, loss);
  const auto gradients_with = [&](bool destroy) {
    auto copy = graph.clone();
    auto variables = std::make_shared<Variables>(*copy);
    CompileOptions options;
    options.training = true;
    options.keep_gradients = true;
    Session session(Program::compile(std::move(copy), variables, options));
    std::map<std::string, std::vector<float>> seen;
    session.run(std::vector<Tensor>{random_tensor(DType::kF32, {8}, 4)}, [&](const GradientView& view) {
      const std::string& name = variables->name(view.variable);
      seen[name].assign(view.dense, view.dense + view.num_floats);
      EXPECT_EQ(view.own_memory, name == "w") << name;
      if (destroy && view.own_memory) std::fill_n(view.dense, view.num_floats, -1.0F);
    });
    EXPECT_EQ(seen.size(), 3U);
    return seen;
  };
  EXPECT_EQ(gradients_with(true), gradients_with(false));
}

TEST(Program, StatesTakeTheirNewValueAfterARun) {
  Graph graph("counter");
  Value* x = graph.input("x", {DType::kF32, {1}});
  Value* total = graph.state("total", Tensor::zeros(DType::kF32, {1}));
  Value* next = ops::add(total, x);
  graph.assign(total, next);
  graph.mark_output(next);
  auto variables = std::make_shared<Variables>(graph);
  CompileOptions options;
  options.training = true;
  Session session(Program::compile(graph.clone(), variables, options));
  const std::vector<Tensor> one = {Tensor::full<float>({1}, 1.0F)};
  EXPECT_EQ(session.run(one)[0].item(), 1.0);
  EXPECT_EQ(session.run(one)[0].item(), 2.0);
  EXPECT_EQ(variables->read(variables->index("total")).item(), 2.0);
}

TEST(Program, WorkOnFixedWeightsRunsOnceUntilTheyChange) {
  Graph graph("derived");
  Value* x = graph.input("x", {DType::kF32, {2}});
  Value* w = graph.parameter("w", Tensor::from<float>({2}, {1, 4}));
  graph.mark_output(ops::mul(x, ops::sqrt(w)));
  auto variables = std::make_shared<Variables>(graph);
  auto program = Program::compile(graph.clone(), variables);
  EXPECT_EQ(program->prologue().size(), 1U);
  EXPECT_EQ(program->steps().size(), 1U);
  Session session(program);
  const std::vector<Tensor> ones = {Tensor::full<float>({2}, 1.0F)};
  EXPECT_EQ(session.run(ones)[0].data<float>()[1], 2.0F);
  variables->write(0, Tensor::from<float>({2}, {1, 9}));
  EXPECT_EQ(session.run(ones)[0].data<float>()[1], 3.0F);
}

TEST(Program, SessionsOfOneProgramRunConcurrently) {
  Graph graph("shared");
  Value* x = graph.input("x", {DType::kF32, {64}});
  Value* w = graph.parameter("w", random_tensor(DType::kF32, {64}, 5));
  graph.mark_output(ops::tanh(ops::mul(ops::exp(ops::mul(x, w)), ops::sigmoid(w))));
  auto variables = std::make_shared<Variables>(graph);
  CompileOptions options;
  options.threads = 1;
  auto program = Program::compile(graph.clone(), variables, options);
  const std::vector<Tensor> inputs = {random_tensor(DType::kF32, {64}, 6)};
  const Tensor expected = Session(program).run(inputs)[0];
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (size_t i = 0; i < wrong.size(); ++i) {
    threads.emplace_back([&, i] {
      Session session(program);
      for (int round = 0; round < 50; ++round) {
        const Tensor result = session.run(inputs)[0];
        wrong[i] += std::memcmp(result.raw(), expected.raw(), result.num_bytes()) != 0 ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(Program, WrongInputTypeNamesTheInput) {
  Regression model;
  auto graph = model.graph.clone();
  auto variables = std::make_shared<Variables>(*graph);
  Session session(Program::compile(std::move(graph), variables));
  const std::vector<Tensor> wrong = {Tensor::zeros(DType::kF32, {4, 3}), Tensor::zeros(DType::kF32, {4, 2})};
  try {
    session.run(wrong);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'t'"), std::string::npos) << error.what();
  }
}

/// Weights that decayed in training would make a product a hundred times slower on some processors.
TEST(Program, ProductsCountWhatIsBelowFullPrecisionAsZeroAndNothingElseDoes) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {1, 1}});
  Value* small = graph.input("small", {DType::kF32, {1, 1}});
  graph.mark_output(ops::matmul(x, small));
  graph.mark_output(ops::mul(x, small));
  auto variables = std::make_shared<Variables>(graph);
  Session session(Program::compile(graph.clone(), variables));
  const std::vector<Tensor> inputs{Tensor::full<float>({1, 1}, 1e38F), Tensor::full<float>({1, 1}, 1e-40F)};
  const std::vector<Tensor> outputs = session.run(inputs);
  EXPECT_EQ(outputs[0].item(), 0.0);
  EXPECT_NEAR(outputs[1].item(), 0.01, 1e-4);
}

TEST(Program, ExplainNamesKernelsAndWhyOthersDeclined) {
  Graph graph("explained");
  Value* x = graph.input("x", {DType::kF64, {4}});
  graph.mark_output(ops::relu(x));
  auto variables = std::make_shared<Variables>(graph);
  const std::string text = Program::compile(graph.clone(), variables)->explain();
  EXPECT_NE(text.find("relu"), std::string::npos);
  EXPECT_NE(text.find("reference"), std::string::npos);
}

}  // namespace
}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// One program run by many sessions at a time. Under the thread sanitizer this is where kernels that keep something
// between runs, or between the threads of one run, are caught.
#include <gtest/gtest.h>

#include <thread>

#include "runtime/program.h"
#include "support/op_check.h"
#include "thalweg/ops.h"
#include "thalweg/passes.h"

namespace thalweg::testing {
namespace {

/// A graph of one node or more of each family whose kernels have scratch memory, state, or parts that threads share.
class EveryFamily {
 public:
  EveryFamily() {
    Value* h = images();
    Value* tokens = sequence(ops::reshape(h, {2, 16, 36}));
    h = ops::dropout(ops::mul(ops::reduce_mean(tokens, {1}), ops::reduce_max(tokens, {1})), 0.25, 3);
    Value* logits = ops::linear(h, weight({5, 32}), weight({5}), "tanh");
    loss = ops::reduce_mean(ops::softmax_cross_entropy(logits, labels));
    graph.mark_output(logits);
    graph.mark_output(loss);
    prepare_for_training(graph, loss, Precision::kF32);
  }

  std::vector<Tensor> inputs() const {
    return {random_tensor(DType::kF32, {2, 16, 12, 12}, 1), random_tensor(DType::kI64, {2}, 2, 0, 5),
            random_tensor(DType::kI64, {2, 16}, 3, 0, 9)};
  }

  Graph graph{"every family"};
  Value* loss = nullptr;

 private:
  Value* weight(const Shape& shape) {
    const auto number = static_cast<uint64_t>(graph.parameters().size());
    return graph.parameter("weight" + std::to_string(number), random_tensor(DType::kF32, shape, number, -0.3, 0.3));
  }

  Value* images() {
    ops::ConvOptions same;
    same.pads = {1, 1};
    Value* h = ops::conv(x, weight({32, 16, 3, 3}), weight({32}), same);
    h = ops::batch_norm(h, weight({32}), weight({32})).y;
    h = ops::lrn(ops::relu(h), 5);
    h = ops::conv(h, weight({16, 32, 1, 1}));
    h = ops::group_norm(h, weight({16}), weight({16}), 4);
    ops::PoolOptions halves;
    halves.kernel = halves.strides = {2, 2};
    return ops::add(ops::max_pool(h, halves), ops::avg_pool(h, halves));
  }

  Value* sequence(Value* h) {
    h = ops::add(ops::linear(h, weight({32, 36})), ops::embedding(weight({9, 32}), words));
    h = ops::layer_norm(h, weight({32}), weight({32}));
    h = ops::self_attention(ops::linear(h, weight({96, 32})), 4);
    h = ops::lstm(h, {weight({128, 32}), weight({128, 32})}).y;
    return ops::gru(h, {weight({96, 32}), weight({96, 32})}).y;
  }

  Value* x = graph.input("x", {DType::kF32, {2, 16, 12, 12}});
  Value* labels = graph.input("labels", {DType::kI64, {2}});
  Value* words = graph.input("words", {DType::kI64, {2, 16}});
};

/// Outputs and gradients of one run, bit for bit.
std::vector<float> everything(Session& session, const std::vector<Tensor>& inputs) {
  std::vector<float> values;
  session.set_step(7);  // the same random numbers each time
  const auto outputs = session.run(inputs, [&](const GradientView& view) {
    if (view.dense != nullptr) values.insert(values.end(), view.dense, view.dense + view.num_floats);
  });
  for (const Tensor& output : outputs) {
    values.insert(values.end(), output.data<float>(), output.data<float>() + output.num_elements());
  }
  return values;
}

TEST(Concurrency, SessionsOfATrainingProgramDoNotDisturbEachOther) {
  for (const int num_threads : {1, 2}) {
    EveryFamily model;
    const std::vector<Tensor> inputs = model.inputs();
    auto variables = std::make_shared<Variables>(model.graph);
    CompileOptions options;
    options.threads = num_threads;
    options.training = true;
    const auto program = Program::compile(model.graph.clone(), variables, options);
    Session alone(program);
    const std::vector<float> expected = everything(alone, inputs);
    std::vector<int> wrong(3, 0);
    std::vector<std::thread> threads;
    for (int& count : wrong) {
      threads.emplace_back([&] {
        Session session(program);
        for (int round = 0; round < 5; ++round) count += everything(session, inputs) != expected ? 1 : 0;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, std::vector<int>(3, 0)) << num_threads << " threads each";
  }
}

}  // namespace
}  // namespace thalweg::testing

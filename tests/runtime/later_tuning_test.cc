// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/later_tuning.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "runtime/kernels/native/conv_forms.h"
#include "runtime/kernels/simd/dispatch.h"
#include "runtime/tuner.h"
#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

/// A convolution that can be computed in several ways. Of a size that no other test measures.
std::unique_ptr<Graph> small_network() {
  auto graph = std::make_unique<Graph>("small network");
  Value* x = graph->input("x", {DType::kF32, {1, 48, 19, 23}});
  Value* w = graph->parameter("w", random_tensor(DType::kF32, {80, 48, 3, 3}, 1));
  ops::ConvOptions same;
  same.pads = {1, 1};
  graph->mark_output(ops::conv(x, w, nullptr, same));
  return graph;
}

class LaterTuningOfConv : public ::testing::Test {
 protected:
  void SetUp() override {
    if (simd::best_isa() == simd::Isa::kBaseline) GTEST_SKIP() << "there is one way without AVX2";
    auto graph = small_network();
    auto variables = std::make_shared<Variables>(*graph);
    CompileOptions options;
    options.threads = 2;
    options.tuning = Tuning::kMeasured;
    options.tune_later = true;
    program_ = Program::compile(std::move(graph), variables, options);
    ASSERT_EQ(program_->unmeasured().size(), 1U);
    forms_ = all_conv_forms(request());
    ASSERT_GT(forms_.size(), 1U);
  }

  const KernelRequest& request() const { return program_->unmeasured()[0]; }
  std::string known() { return tuner_.find(conv_key(request())); }
  /// A form that the rule does not take.
  std::string other_form() const { return forms_[0].name == conv_by_rule(forms_) ? forms_[1].name : forms_[0].name; }
  /// How often it asks for the program to be compiled anew until it is settled.
  int finish(LaterTuning& tuning, std::span<std::byte> memory = {}) {
    int asked = 0;
    for (int run = 0; run < 100000 && !tuning.settled(); ++run) asked += tuning.after_run(1e-3, memory) ? 1 : 0;
    EXPECT_TRUE(tuning.settled());
    for (int run = 0; run < 3; ++run) asked += tuning.after_run(1.0, memory) ? 1 : 0;
    return asked;
  }

  std::shared_ptr<Program> program_;
  std::vector<ConvForm> forms_;
  Tuner tuner_{""};
};

TEST_F(LaterTuningOfConv, MeasuresAfterTheFirstRunAndSettles) {
  LaterTuning tuning(program_, tuner_);
  EXPECT_FALSE(tuning.after_run(1e3, {}));
  EXPECT_EQ(known(), "") << "the first answer should not wait";
  const int asked = finish(tuning);
  EXPECT_EQ(asked, known() == conv_by_rule(forms_) ? 0 : 1);
  EXPECT_TRUE(std::any_of(forms_.begin(), forms_.end(), [&](const ConvForm& form) { return form.name == known(); }));
}

TEST_F(LaterTuningOfConv, MeasuresInTheMemoryOfTheSession) {
  Session session(program_);
  const std::vector<Tensor> inputs{random_tensor(DType::kF32, {1, 48, 19, 23}, 2)};
  const Tensor expected = session.run(inputs)[0].clone();
  LaterTuning tuning(program_, tuner_);
  finish(tuning, session.idle_memory());
  EXPECT_NE(known(), "");
  expect_close(session.run(inputs)[0], expected, 0, "the answer after");
}

TEST_F(LaterTuningOfConv, TakesWhatAnotherProcessFound) {
  tuner_.set(conv_key(request()), other_form());
  LaterTuning tuning(program_, tuner_);
  EXPECT_EQ(finish(tuning), 1);
  EXPECT_EQ(known(), other_form());
}

TEST_F(LaterTuningOfConv, StaysWhereTheRuleWasRight) {
  tuner_.set(conv_key(request()), conv_by_rule(forms_));
  LaterTuning tuning(program_, tuner_);
  EXPECT_EQ(finish(tuning), 0);
}

TEST_F(LaterTuningOfConv, LeavesOutWhatDoesNotMatter) {
  LaterTuning tuning(program_, tuner_);
  // As if this were a small part of a network that takes a quarter of an hour.
  EXPECT_FALSE(tuning.after_run(1e3, {}));
  EXPECT_FALSE(tuning.after_run(1e3, {}));
  EXPECT_TRUE(tuning.settled());
  EXPECT_EQ(known(), "");
}

TEST_F(LaterTuningOfConv, ThreadsDoNotWaitForEachOther) {
  LaterTuning tuning(program_, tuner_);
  std::atomic<int> asked = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      Session session(program_);
      const std::vector<Tensor> inputs{random_tensor(DType::kF32, {1, 48, 19, 23}, 2)};
      for (int run = 0; run < 10000 && !tuning.settled(); ++run) {
        session.run(inputs);
        asked += tuning.after_run(0.01, session.idle_memory()) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(tuning.settled());
  EXPECT_EQ(asked, known() == conv_by_rule(forms_) ? 0 : 1);
}

}  // namespace
}  // namespace thalweg::testing

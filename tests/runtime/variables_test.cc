// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/program.h"
#include "support/error_text.h"
#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

/// A weight that counts how often it was fetched, and of which no copy need exist.
struct Stored {
  Tensor content;
  int fetched = 0;
  std::weak_ptr<void> last = {};

  StoredWeight weight() {
    return {"w", content.type(), [this] {
              ++fetched;
              const auto copy = std::make_shared<Tensor>(content.clone());
              last = copy;
              return Tensor::borrow(content.dtype(), content.shape(), copy->raw(), copy);
            }};
  }
  bool in_memory() const { return !last.expired(); }
};

std::shared_ptr<Variables> variables_of(Stored& stored) {
  return std::make_shared<Variables>(std::vector<StoredWeight>{stored.weight()});
}

TEST(StoredWeights, AreFetchedWhenAskedFor) {
  Stored stored{random_tensor(DType::kF32, {3, 4}, 1)};
  const auto variables = variables_of(stored);
  EXPECT_EQ(variables->type(0), stored.content.type());
  EXPECT_EQ(stored.fetched, 0);
  EXPECT_THAT(error_text([&] { variables->data(0); }), ::testing::HasSubstr("'w' is stored elsewhere"));
  EXPECT_EQ(variables->read(0).data<float>()[5], stored.content.data<float>()[5]);
  EXPECT_FALSE(stored.in_memory());
  {
    const auto borrowed = variables->borrow(0);
    EXPECT_EQ(static_cast<const float*>(borrowed.get())[5], stored.content.data<float>()[5]);
    EXPECT_TRUE(stored.in_memory());
  }
  EXPECT_FALSE(stored.in_memory());
  variables->hold(0);
  EXPECT_TRUE(stored.in_memory());
  EXPECT_EQ(static_cast<const float*>(variables->data(0))[5], stored.content.data<float>()[5]);
  EXPECT_THAT(error_text([&] { variables->write(0, stored.content); }), ::testing::HasSubstr("'w' is only read"));
}

/// Compiles y = build(x, w) and runs it once.
Tensor run_once(const std::shared_ptr<Variables>& variables, const Tensor& x,
                const std::function<Value*(Value* x, Value* w)>& build) {
  auto graph = std::make_unique<Graph>("stored");
  Value* input = graph->input("x", x.type());
  graph->mark_output(build(input, graph->held_parameter("w", variables->type(0))));
  Session session(Program::compile(std::move(graph), variables));
  return session.run(std::vector<Tensor>{x})[0];
}

TEST(StoredWeights, StayInMemoryIfRunsReadThem) {
  Stored stored{random_tensor(DType::kF32, {8}, 2)};
  const auto variables = variables_of(stored);
  const Tensor x = random_tensor(DType::kF32, {8}, 3);
  const Tensor y = run_once(variables, x, [](Value* in, Value* w) { return ops::mul(in, w); });
  EXPECT_EQ(y.data<float>()[3], x.data<float>()[3] * stored.content.data<float>()[3]);
  EXPECT_TRUE(stored.in_memory());
  EXPECT_EQ(stored.fetched, 1);
}

TEST(StoredWeights, LeaveMemoryOnceSomethingIsDerivedFromThem) {
  Stored stored{random_tensor(DType::kF32, {8}, 4)};
  const auto variables = variables_of(stored);
  const Tensor x = random_tensor(DType::kF32, {8}, 5);
  const Tensor y = run_once(variables, x, [](Value* in, Value* w) { return ops::mul(in, ops::square(w)); });
  const float w = stored.content.data<float>()[3];
  EXPECT_FLOAT_EQ(y.data<float>()[3], x.data<float>()[3] * (w * w));
  EXPECT_FALSE(stored.in_memory());
}

TEST(StoredWeights, LeaveMemoryOnceTheyAreRearranged) {
  Stored stored{random_tensor(DType::kF32, {32, 16}, 6)};
  const auto variables = variables_of(stored);
  using Tag = dnnl::memory::format_tag;
  variables->adopt(0, Layout(stored.content.type(), {{32, 16}, dnnl::memory::data_type::f32, Tag::ba}));
  EXPECT_EQ(stored.fetched, 1);
  EXPECT_FALSE(stored.in_memory());
  EXPECT_EQ(static_cast<const float*>(variables->data(0))[1], stored.content.data<float>()[16]);
  EXPECT_EQ(variables->read(0).data<float>()[100], stored.content.data<float>()[100]);
  EXPECT_EQ(stored.fetched, 1);
}

TEST(StoredWeights, AreSharedByThoseThatWantThemAlikeAndGoWithTheLast) {
  Stored stored{random_tensor(DType::kF32, {32, 16}, 7)};
  const auto variables = variables_of(stored);
  const Layout turned(stored.content.type(), {{32, 16}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ba});
  const Layout plain(stored.content.type());
  {
    const Tensor first = variables->arranged(0, turned), second = variables->arranged(0, turned);
    EXPECT_EQ(first.raw(), second.raw());
    EXPECT_NE(variables->arranged(0, plain).raw(), first.raw());
    EXPECT_EQ(static_cast<const float*>(first.raw())[1], stored.content.data<float>()[16]);
    EXPECT_EQ(stored.fetched, 2);
  }
  EXPECT_FALSE(stored.in_memory());
  EXPECT_EQ(variables->layout(0), plain) << "nothing is settled by it";
  variables->arranged(0, turned);
  EXPECT_EQ(stored.fetched, 3) << "it went with those who had it";
}

}  // namespace
}  // namespace thalweg::testing

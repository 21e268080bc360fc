// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Concatenation, split, slices, selection and padding of activations in the layouts that convolutions leave.
#include <gtest/gtest.h>

#include "runtime/kernels/simd/channel_blocks.h"
#include "support/kernel_check.h"
#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

using Tag = dnnl::memory::format_tag;

Layout arranged(const TensorType& type, Tag tag) {
  return {type, dnnl::memory::desc(type.shape.dims(), to_dnnl(type.dtype), tag)};
}

/// Runs the candidate on activations that lie in each of the usual layouts, and compares with the reference kernel:
/// every element must be the same. All inputs of rank 4 are activations; others stay row-major.
void check_moves(const Node& node, const std::string& candidate, const std::vector<Tensor>& inputs,
                 const std::vector<Tag>& tags) {
  std::vector<Layout> plain;
  for (const Tensor& input : inputs) plain.emplace_back(input.type());
  const std::vector<Tensor> expected = run_kernel(node, "reference", plain, inputs);
  for (const Tag tag : tags) {
    std::vector<Layout> layouts = plain;
    for (Layout& layout : layouts) {
      if (layout.shape().rank() == 4) layout = arranged(layout.type(), tag);
    }
    for (const int threads : {1, 2, 3}) {
      const std::vector<Tensor> actual = run_kernel(node, candidate, layouts, inputs, threads);
      ASSERT_EQ(actual.size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        expect_close(actual[i], expected[i], 0.0, describe(node) + " in " + layouts[0].to_string());
      }
    }
  }
}

const std::vector<Tag> kAll{Tag::nChw16c, Tag::nChw8c, Tag::nhwc, Tag::nchw};
const std::vector<Tag> kBlocked{Tag::nChw16c, Tag::nChw8c};

struct Built {
  Graph graph;
  std::vector<Value*> values;
  std::vector<Tensor> tensors;

  Value* input(DType dtype, const Shape& shape) {
    const size_t i = values.size();
    values.push_back(graph.input("input" + std::to_string(i), {dtype, shape}));
    tensors.push_back(random_tensor(DType::kF32, shape, i + 1, 0, 100).to(dtype));
    return values.back();
  }
};

TEST(ChannelMoves, JoinChannelsOfAnyNumber) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kU8}) {
    for (const auto& channels :
         std::vector<std::vector<int64_t>>{{16, 32}, {5, 7}, {1, 1, 1}, {24, 40}, {3, 16, 29, 2}, {20, 20}, {1}}) {
      Built built;
      for (const int64_t c : channels) built.input(dtype, {2, c, 5, 7});
      check_moves(*ops::concat(built.values, 1)->producer(), "native", built.tensors, kAll);
    }
  }
}

TEST(ChannelMoves, JoinImagesRowsAndColumns) {
  for (const int64_t axis : {0, 2, 3}) {
    for (const int64_t channels : {32, 5, 1}) {
      Built built;
      Shape a{2, channels, 3, 5}, b{2, channels, 3, 5};
      b[static_cast<int>(axis)] = 1;
      for (const Shape& shape : {a, b, a}) built.input(DType::kF32, shape);
      check_moves(*ops::concat(built.values, axis)->producer(), "native", built.tensors, kAll);
    }
  }
}

TEST(ChannelMoves, PartChannelsOfAnyNumber) {
  for (const auto& sizes : std::vector<std::vector<int64_t>>{{16, 32}, {1, 3, 12}, {29, 29}, {5}, {20, 1, 27}}) {
    Built built;
    int64_t all = 0;
    for (const int64_t size : sizes) all += size;
    Value* x = built.input(DType::kF32, {3, all, 4, 3});
    for (const int64_t axis : {1, 3}) {
      const std::vector<int64_t> parts = axis == 1 ? sizes : std::vector<int64_t>{1, 2};
      check_moves(*ops::split(x, parts, axis)[0]->producer(), "native", built.tensors, kAll);
    }
  }
}

TEST(ChannelMoves, SliceChannelsBetweenBlocks) {
  const struct {
    int64_t start, end, step;
  } cuts[] = {{0, 16, 1}, {3, 19, 1}, {17, 18, 1}, {0, 37, 2}, {36, -100, -1}, {16, 37, 1}, {5, 6, 1}};
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const auto& cut : cuts) {
      Built built;
      Value* x = built.input(dtype, {2, 37, 3, 5});
      const Node* node = ops::slice(x, {cut.start}, {cut.end}, {1}, {cut.step})->producer();
      check_moves(*node, "channels", built.tensors, kBlocked);
      check_moves(*node, "native", built.tensors, kAll);
    }
  }
}

TEST(ChannelMoves, SliceRowsAndColumnsWhereTheyLie) {
  for (const int64_t channels : {16, 21, 1}) {
    Built built;
    Value* x = built.input(DType::kF32, {3, channels, 6, 7});
    check_moves(*ops::slice(x, {0, 1}, {6, 7}, {2, 3}, {2, 2})->producer(), "native", built.tensors, kAll);
    check_moves(*ops::slice(x, {1, -1}, {2, -100}, {0, 3}, {1, -1})->producer(), "native", built.tensors, kAll);
    check_moves(*ops::slice(x, {0, 2}, {1, 5}, {1, 2})->producer(), "native", built.tensors, kAll);
    // The graph of the layout's own: nothing but the cut is copied.
    Graph graph;
    const TensorType type{DType::kF32, {3, channels, 6, 7}};
    const Node* node = ops::slice(graph.input("x", type), {1}, {3}, {2})->producer();
    const KernelRequest request{*node, {arranged(type, Tag::nChw16c)}, 1, {false}};
    std::string declined;
    for (const KernelCandidate& candidate : kernel_candidates(node->op_name())) {
      if (candidate.name != "native") continue;
      EXPECT_EQ(candidate.factory(request, declined)->inputs[0], request.inputs[0]);
    }
  }
}

TEST(ChannelMoves, SelectAndShuffleChannels) {
  for (const auto& order : std::vector<std::vector<int64_t>>{
           {0}, {22, -1, 3}, {0, 11, 1, 12, 2, 13, 3, 14, 4, 15, 5, 16, 6, 17, 7, 18, 8, 19, 9, 20, 10, 21, 22}}) {
    const BuildOp build = [&](const std::vector<Value*>& v) {
      const Tensor places = Tensor::from<int64_t>({static_cast<int64_t>(order.size())}, order);
      return std::vector<Value*>{ops::gather(ops::conv(v[0], v[1]), v[0]->graph().constant(places), 1)};
    };
    check_fast_path({{{2, 16, 3, 4}}, {{23, 16, 1, 1}}}, build, "native channels", 1e-4, false);
  }
}

TEST(ChannelMoves, PadRowsAndColumnsWhereTheyLie) {
  for (const int64_t channels : {16, 5}) {
    for (const double value : {0.0, 0.5}) {
      Built built;
      Value* x = built.input(DType::kF32, {2, channels, 4, 3});
      check_moves(*ops::pad(x, {0, 0, 1, 0, 0, 0, 2, 3}, "constant", value)->producer(), "native", built.tensors, kAll);
      check_moves(*ops::pad(x, {1, 2, 0, -1, 0, 0, -2, 3}, "constant", value)->producer(), "native", built.tensors,
                  kAll);
    }
  }
}

TEST(ChannelMoves, EmptyBatchesAreLeftToTheReference) {
  const auto check = [](const BuildOp& build) { check_fast_path({{{0, 5, 3, 3}}}, build, "reference", 1e-6); };
  check([](const std::vector<Value*>& v) { return std::vector<Value*>{ops::concat({v[0], v[0]}, 1)}; });
  check([](const std::vector<Value*>& v) { return std::vector<Value*>{ops::slice(v[0], {1}, {3}, {1})}; });
  check([](const std::vector<Value*>& v) { return ops::split(v[0], {2, 3}, 1); });
}

/// Convolutions whose channels do not fill blocks, and what joins and cuts them: no reorder lies between.
TEST(ChannelMoves, NoReorderBetweenConvolutions) {
  if (simd::block_lanes(simd::best_isa()) != 16) GTEST_SKIP() << "the channels are those of blocks of 16";
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {2, 40, 9, 9}});
  const auto conv = [&](Value* from, int64_t channels) {
    const Tensor weights = random_tensor(DType::kF32, {channels, from->shape()[1], 1, 1}, 3);
    return ops::conv(from, graph.constant(weights));
  };
  Value* joined = ops::concat({conv(x, 36), conv(x, 20)}, 1);
  graph.mark_output(conv(ops::slice(joined, {0}, {50}, {1}), 32));
  auto copy = graph.clone();
  auto variables = std::make_shared<Variables>(*copy);
  const auto program = Program::compile(std::move(copy), std::move(variables));
  for (const Step& step : program->steps()) {
    const bool inside =
        step.node == nullptr && step.label.find(" x") == std::string::npos && &step != &program->steps().back();
    EXPECT_FALSE(inside) << step.label;
  }
}

}  // namespace
}  // namespace thalweg::testing

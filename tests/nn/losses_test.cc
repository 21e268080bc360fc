// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/losses.h"

#include <gtest/gtest.h>

#include "nn/init/deterministic.h"
#include "support/op_check.h"
#include "thalweg/ops.h"

namespace thalweg::testing {
namespace {

using losses::Reduction;

/// What the losses below are built from: three free values, and others derived from them or fixed. All in double.
struct Values {
  Value *x, *y, *z;
  Value *p, *q;     ///< probabilities
  Value* log_p;     ///< log_softmax(x)
  Value* bits;      ///< 0 or 1
  Value* signs;     ///< -1 or 1
  Value* sign;      ///< -1 or 1, one a row
  Value* labels;    ///< one a row
  Value* ignoring;  ///< the same, but for one row that does not count
  Value* weight;    ///< one a class
};

Values make_values(Value* x, Value* y, Value* z) {
  Graph& graph = x->graph();
  const auto fixed = [&](const Tensor& tensor) { return graph.constant(tensor.to(DType::kF64)); };
  Values v{};
  v.x = x;
  v.y = y;
  v.z = z;
  v.p = ops::add(ops::mul(x, 0.49), 0.5);
  v.q = ops::add(ops::mul(y, 0.49), 0.5);
  v.log_p = ops::log_softmax(x, 1);
  v.bits = fixed(nn::deterministic_integers("bits", {3, 4}, 2));
  v.signs = ops::sub(ops::mul(v.bits, 2.0), 1.0);
  v.sign = ops::sub(ops::mul(fixed(nn::deterministic_integers("bits1", {3}, 2)), 2.0), 1.0);
  Tensor labels = nn::deterministic_integers("labels", {3}, 4);
  v.labels = graph.constant(labels);
  labels = labels.clone();
  labels.data<int64_t>()[1] = -100;
  v.ignoring = graph.constant(labels);
  v.weight = ops::add(fixed(nn::deterministic_uniform("w", {4})), 2.0);
  return v;
}

struct LossCase {
  const char* name;
  Value* (*build)(const Values&);
  double expected;  ///< computed with PyTorch 2.15, in double
};

void PrintTo(const LossCase& test, std::ostream* out) { *out << test.name; }  // NOLINT: GoogleTest's name

const LossCase kCases[] = {
    {"cross_entropy", [](const Values& v) { return losses::cross_entropy(v.x, v.labels); }, 1.1651032260281629},
    {"cross_entropy_smoothed",
     [](const Values& v) { return losses::cross_entropy(v.x, v.labels, {.label_smoothing = 0.1}); }, 1.200080645205854},
    {"cross_entropy_weighted",
     [](const Values& v) { return losses::cross_entropy(v.x, v.labels, {.weight = v.weight}); }, 1.1509100298175807},
    {"cross_entropy_ignoring",
     [](const Values& v) { return losses::cross_entropy(v.x, v.ignoring, {.ignore_index = -100}); },
     1.1791069331135682},
    {"cross_entropy_sum",
     [](const Values& v) { return losses::cross_entropy(v.x, v.labels, {.reduction = Reduction::kSum}); },
     3.495309678084489},
    {"nll", [](const Values& v) { return losses::nll(v.log_p, v.labels); }, 1.1651032260281629},
    {"nll_weighted_ignoring",
     [](const Values& v) { return losses::nll(v.log_p, v.ignoring, {.ignore_index = -100, .weight = v.weight}); },
     1.1662088276727454},
    {"bce", [](const Values& v) { return losses::bce(v.p, v.q); }, 0.9596957939643972},
    {"bce_with_logits", [](const Values& v) { return losses::bce_with_logits(ops::mul(v.x, 5.0), v.bits); },
     1.4246912572360095},
    {"bce_with_logits_weighted",
     [](const Values& v) { return losses::bce_with_logits(ops::mul(v.x, 5.0), v.bits, {.pos_weight = v.weight}); },
     1.555265623361621},
    {"mse", [](const Values& v) { return losses::mse(v.x, v.y); }, 0.5842792654867269},
    {"mse_sum", [](const Values& v) { return losses::mse(v.x, v.y, Reduction::kSum); }, 7.011351185840724},
    {"l1", [](const Values& v) { return losses::l1(v.x, v.y); }, 0.6033531725406647},
    {"smooth_l1", [](const Values& v) { return losses::smooth_l1(v.x, v.y, 0.5); }, 0.4110278451122132},
    {"huber", [](const Values& v) { return losses::huber(v.x, v.y, 0.5); }, 0.2055139225561066},
    {"kl_div", [](const Values& v) { return losses::kl_div(v.log_p, v.q); }, 0.6597914780008364},
    {"kl_div_batch_mean", [](const Values& v) { return losses::kl_div(v.log_p, v.q, {.batch_mean = true}); },
     2.6391659120033455},
    {"kl_div_log_target", [](const Values& v) { return losses::kl_div(v.log_p, v.y, {.log_target = true}); },
     2.754687460398253},
    {"hinge", [](const Values& v) { return losses::hinge(v.x, v.signs); }, 1.0002518792947133},
    {"squared_hinge", [](const Values& v) { return losses::squared_hinge(v.x, v.signs); }, 1.3347979117312256},
    {"hinge_embedding", [](const Values& v) { return losses::hinge_embedding(v.x, v.signs); }, 0.58308145403862},
    {"soft_margin", [](const Values& v) { return losses::soft_margin(v.x, v.signs); }, 0.7340677800499632},
    {"margin_ranking", [](const Values& v) { return losses::margin_ranking(v.x, v.y, v.signs, 0.3); },
     0.41320100227991735},
    {"multi_margin", [](const Values& v) { return losses::multi_margin(v.x, v.labels); }, 0.44929080208142597},
    {"multi_margin_squared", [](const Values& v) { return losses::multi_margin(v.x, v.labels, 2, 0.5); },
     0.135041639590226},
    {"multilabel_margin", [](const Values& v) { return losses::multilabel_margin(v.x, v.bits); }, 0.4437628785769145},
    {"multilabel_soft_margin", [](const Values& v) { return losses::multilabel_soft_margin(v.x, v.bits); },
     0.7340677800499632},
    {"cosine_embedding", [](const Values& v) { return losses::cosine_embedding(v.x, v.y, v.sign, 0.1); },
     0.17789424149222122},
    {"triplet_margin", [](const Values& v) { return losses::triplet_margin(v.x, v.y, v.z); }, 1.5545674886293128},
    {"poisson_nll", [](const Values& v) { return losses::poisson_nll(v.x, v.q); }, 1.2426127070753825},
    {"poisson_nll_rate", [](const Values& v) { return losses::poisson_nll(v.p, v.q, {.log_input = false}); },
     1.0707326799657837},
    {"gaussian_nll", [](const Values& v) { return losses::gaussian_nll(v.x, v.y, ops::add(ops::mul(v.z, 0.5), 1.0)); },
     0.3545935774592237},
    {"dice", [](const Values& v) { return losses::dice(v.p, v.bits); }, 0.44085677603719137},
    {"mape", [](const Values& v) { return losses::mape(v.p, v.q); }, 244.5976485506831},
    {"msle", [](const Values& v) { return losses::msle(v.p, v.q); }, 0.06588006678197926},
    {"log_cosh", [](const Values& v) { return losses::log_cosh(ops::mul(v.x, 3.0), v.y); }, 0.8745875464495935},
};

class Loss : public ::testing::TestWithParam<LossCase> {};

TEST_P(Loss, MatchesPyTorch) {
  Graph graph;
  std::vector<Value*> free;
  std::vector<Tensor> inputs;
  for (const char* name : {"x", "y", "z"}) {
    free.push_back(graph.input(name, {DType::kF64, {kFree, 4}}));
    inputs.push_back(nn::deterministic_uniform(name, {3, 4}).to(DType::kF64));
  }
  Value* loss = GetParam().build(make_values(free[0], free[1], free[2]));
  graph.mark_output(loss);
  graph.remove_dead_nodes();
  const Tensor result = run_graph(graph, inputs)[0];
  EXPECT_EQ(result.shape().rank(), 0);
  EXPECT_NEAR(result.item(), GetParam().expected, 1e-9 * std::abs(GetParam().expected));
}

TEST_P(Loss, GradientsMatchCentralDifferences) {
  check_gradients({{{3, 4}, -0.9, 0.9}, {{3, 4}, -0.9, 0.9}, {{3, 4}, -0.9, 0.9}}, [](const std::vector<Value*>& v) {
    return std::vector<Value*>{GetParam().build(make_values(v[0], v[1], v[2]))};
  });
}

INSTANTIATE_TEST_SUITE_P(All, Loss, ::testing::ValuesIn(kCases), [](const auto& test) { return test.param.name; });

TEST(Losses, NoneReductionKeepsElements) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {kFree, 4}});
  Value* y = graph.input("y", {DType::kF32, {kFree, 4}});
  EXPECT_EQ(losses::mse(x, y, Reduction::kNone)->shape(), (Shape{kFree, 4}));
}

TEST(Losses, ExtremeLogitsStayFinite) {
  Graph graph;
  Value* x = graph.constant(Tensor::from<float>({4}, {1000.0F, -1000.0F, 1000.0F, -1000.0F}));
  Value* t = graph.constant(Tensor::from<float>({4}, {0.0F, 1.0F, 1.0F, 0.0F}));
  graph.mark_output(losses::bce_with_logits(x, t, {.reduction = Reduction::kNone}));
  graph.mark_output(losses::bce(ops::sigmoid(x), t, Reduction::kNone));
  const auto results = run_graph(graph, {});
  expect_close(results[0], Tensor::from<float>({4}, {1000.0F, 1000.0F, 0.0F, 0.0F}), 1e-6, "with logits");
  expect_close(results[1], Tensor::from<float>({4}, {100.0F, 100.0F, 0.0F, 0.0F}), 1e-6, "cut at 100");
}

TEST(Losses, ShapesThatDoNotFitNameTheLoss) {
  Graph graph;
  Value* x = graph.input("x", {DType::kF32, {kFree, 4}});
  Value* y = graph.input("y", {DType::kF32, {kFree, 5}});
  Value* labels = graph.input("labels", {DType::kI64, {kFree, 4}});
  const auto message = [](const auto& build) -> std::string {
    try {
      build();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message([&] { losses::mse(x, y); }).find("mse: prediction"), std::string::npos);
  EXPECT_NE(message([&] { losses::cross_entropy(x, labels); }).find("cross_entropy: scores"), std::string::npos);
  EXPECT_NE(message([&] { losses::cross_entropy(x, x); }).find("class numbers"), std::string::npos);
}

}  // namespace
}  // namespace thalweg::testing

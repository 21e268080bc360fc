// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Frozen parameters cost no backward work, whoever froze them.
#include <gtest/gtest.h>

#include "support/error_text.h"
#include "train/small_models.h"
#include "train/training_step.h"

namespace thalweg::testing {
namespace {

/// Three convolutions in a row and a linear layer.
std::unique_ptr<Graph> deep_graph() {
  auto graph = std::make_unique<Graph>("deep");
  Value* h = graph->input("x", {DType::kF32, {kFree, 3, 8, 8}});
  for (int layer = 0; layer < 3; ++layer) {
    const std::string name = "conv" + std::to_string(layer);
    const auto seed = static_cast<uint64_t>(layer);
    const Shape shape{16, h->shape()[1], 3, 3};
    Value* weight = graph->parameter(name + ".weight", random_tensor(DType::kF32, shape, seed, -0.3, 0.3));
    h = ops::relu(ops::conv(h, weight, graph->parameter(name + ".bias", random_tensor(DType::kF32, {16}, seed + 9))));
  }
  h = ops::reduce_mean(h, {2, 3});
  graph->mark_output(ops::linear(h, graph->parameter("head.weight", random_tensor(DType::kF32, {2, 16}, 5))));
  return graph;
}

/// Backward nodes of a training step.
struct Work {
  int weight_gradients = 0;
  int data_gradients = 0;
  bool operator==(const Work&) const = default;
};

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

Work work_of(const TrainingStep& step) {
  const std::string text = step.explain();
  return {count(text, "\n  conv_grad_weights "), count(text, "\n  conv_grad_data ")};
}

void PrintTo(const Work& work, std::ostream* out) {
  *out << work.weight_gradients << " weight gradients, " << work.data_gradients << " data gradients";
}

class Freeze : public ::testing::Test {
 protected:
  Work after(const std::vector<optim::ParameterGroup>& groups, const std::vector<std::string>& frozen = {}) {
    Model model(deep_graph());
    for (const std::string& pattern : frozen) model.freeze(pattern);
    optim::Optimizer optimizer = optim::adam();
    optimizer.set_groups(groups);
    TrainingStep step(model, squared_error(), optimizer, {});
    step.run(batch, 0.1);
    return work_of(step);
  }
  static optim::ParameterGroup frozen_group(const std::string& pattern) {
    optim::ParameterGroup group;
    group.pattern = pattern;
    group.frozen = true;
    return group;
  }

  const data::TensorDataset data = conv_data(4);
  const data::Batch batch = rows_of(data, 0, 4);
  const Work all{3, 2};
  const Work last_only{1, 0};
};

TEST_F(Freeze, NothingBelowTheLowestTrainedLayerRunsBackward) {
  EXPECT_EQ(after({}), all);
  EXPECT_EQ(after({}, {"conv0.*", "conv1.*"}), last_only);
  EXPECT_EQ(after({frozen_group("conv0.*"), frozen_group("conv1.*")}), last_only);
  EXPECT_EQ(after({frozen_group("conv0.*")}, {"conv1.*"}), last_only);
  EXPECT_EQ(after({frozen_group("conv*")}), Work());
}

TEST_F(Freeze, ALayerInBetweenStillPassesTheGradientOn) {
  const Work expected{2, 2};
  EXPECT_EQ(after({}, {"conv2.*"}), expected);
  EXPECT_EQ(after({frozen_group("conv2.*")}), expected);
}

TEST_F(Freeze, ALaterGroupMayTrainWhatAnEarlierOneFroze) {
  optim::ParameterGroup thawed;
  thawed.pattern = "conv2.*";
  thawed.frozen = false;
  EXPECT_EQ(after({frozen_group("conv*"), thawed}), last_only);
}

TEST_F(Freeze, AChangeInMidTrainingCompilesAnew) {
  Model model(deep_graph());
  optim::Optimizer optimizer = optim::adam();
  optimizer.set_groups({frozen_group("conv0.*")});
  TrainingStep step(model, squared_error(), optimizer, {});
  step.run(batch, 0.1);
  EXPECT_EQ(work_of(step), (Work{2, 1}));
  const auto frozen = floats(model.weight("conv0.weight"));

  for (size_t p = 0; p < optimizer.num_parameters(); ++p) optimizer.set_frozen(p, false);
  step.run(batch, 0.1);
  EXPECT_EQ(work_of(step), all);
  EXPECT_NE(floats(model.weight("conv0.weight")), frozen);

  model.freeze("conv?.*");
  const auto again = floats(model.weight("conv0.weight"));
  const auto head = floats(model.weight("head.weight"));
  step.run(batch, 0.1);
  EXPECT_EQ(work_of(step), Work());
  EXPECT_EQ(floats(model.weight("conv0.weight")), again);
  EXPECT_NE(floats(model.weight("head.weight")), head);

  model.unfreeze("conv1.*");
  step.run(batch, 0.1);
  EXPECT_EQ(work_of(step), (Work{1, 1}));
}

TEST_F(Freeze, AGroupThatFreezesNothingIsAnError) {
  EXPECT_NE(error_text([&] { after({frozen_group("conb0.*")}); }).find("conb0.*"), std::string::npos);
}

}  // namespace
}  // namespace thalweg::testing

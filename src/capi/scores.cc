// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "capi/guard.h"
#include "capi/result.h"
#include "capi/targets_json.h"
#include "thalweg/c_scores.h"
#include "thalweg/fit_data.h"
#include "thalweg/losses.h"
#include "thalweg/metrics.h"
#include "thalweg/model.h"

namespace thalweg::capi {
namespace {

/// The mean of a loss over rows that come in batches.
class LossMean {
 public:
  explicit LossMean(const std::string& name) : loss_(losses::by_name(name)) {}

  void add(const Tensor& output, const Tensor& target) {
    if (!model_) build(output, target);
    const auto rows = static_cast<double>(output.shape()[0]);
    if (rows == 0) return;
    std::vector<int64_t> dims = target_.shape.dims();
    dims.insert(dims.begin(), target.shape()[0]);
    sum_ += model_->predict({output, target.to(target_.dtype).reshaped(Shape(dims))}).at(0).item() * rows;
    rows_ += rows;
  }
  std::vector<double> state() const { return {sum_, rows_}; }
  void merge(std::span<const double> state) {
    TW_REQUIRE(state.size() == 2, "the state of a loss has ", state.size(), " numbers, not 2");
    sum_ += state[0];
    rows_ += state[1];
  }
  double value() const { return sum_ / rows_; }

 private:
  /// For outputs and targets of one shape; of a target only the number of elements counts.
  void build(const Tensor& output, const Tensor& target) {
    auto graph = std::make_unique<Graph>("loss");
    TensorType type = output.type();
    type.shape[0] = kFree;
    Value* predicted = graph->input("output", type);
    graph->mark_output(predicted);
    target_ = fitting_target(accepted_targets(*graph, Loss(loss_)), target);
    std::vector<int64_t> dims = target_.shape.dims();
    dims.insert(dims.begin(), kFree);
    auto whole = std::make_unique<Graph>("loss");
    predicted = whole->input("output", type);
    whole->mark_output(loss_(predicted, whole->input("target", {target_.dtype, Shape(dims)})));
    model_.emplace(std::move(whole));
  }

  static TensorType fitting_target(const std::vector<AcceptedTarget>& accepted, const Tensor& target) {
    const int64_t elements = target.shape().num_elements(1, target.shape().rank());
    for (const AcceptedTarget& candidate : accepted) {
      if (candidate.type.shape.num_elements() == elements) return candidate.type;
    }
    raise("the loss does not take targets of ", target.type());
  }

  losses::LossFunction loss_;
  std::optional<Model> model_;
  /// Of one row.
  TensorType target_;
  double sum_ = 0;
  double rows_ = 0;
};

/// Of an output whose rows have these dimensions.
Shape output_shape(const int64_t* row_dims, int32_t rank) {
  TW_REQUIRE(rank >= 0 && (rank == 0 || row_dims != nullptr), "there are no dimensions");
  std::vector<int64_t> dims(row_dims, row_dims + rank);
  dims.insert(dims.begin(), kFree);
  return Shape(dims);
}

}  // namespace
}  // namespace thalweg::capi

using thalweg::Tensor;
using thalweg::capi::guarded;

struct tw_scores {
  std::vector<std::unique_ptr<thalweg::metrics::Metric>> metrics;
  std::optional<thalweg::capi::LossMean> loss;

  /// Visits the states of all figures, in a fixed order.
  std::vector<std::vector<double>> states() const {
    std::vector<std::vector<double>> result;
    for (const auto& metric : metrics) result.push_back(metric->state());
    if (loss) result.push_back(loss->state());
    return result;
  }
};

tw_status tw_scores_targets(const char* loss, const int64_t* dims, int32_t rank, tw_result** result) {
  return guarded([&] {
    TW_REQUIRE(loss != nullptr && result != nullptr, "the loss or the result is a null pointer");
    thalweg::Graph graph("outputs");
    graph.mark_output(graph.input("output", {thalweg::DType::kF32, thalweg::capi::output_shape(dims, rank)}));
    const thalweg::Loss built(thalweg::losses::by_name(loss));
    *result = new tw_result{{}, thalweg::capi::to_json(accepted_targets(graph, built)).dump()};
  });
}

tw_status tw_scores_create(const char* metrics, const char* loss, const int64_t* dims, int32_t rank,
                           tw_scores** scores) {
  return guarded([&] {
    TW_REQUIRE(metrics != nullptr && scores != nullptr, "the metrics or the scores are a null pointer");
    auto made = std::make_unique<tw_scores>();
    const thalweg::Shape output = thalweg::capi::output_shape(dims, rank);
    std::istringstream names(metrics);
    for (std::string name; std::getline(names, name, ',');) {
      made->metrics.push_back(thalweg::metrics::fitting_metric(name, loss != nullptr ? loss : "", output));
    }
    if (loss != nullptr) made->loss.emplace(loss);
    *scores = made.release();
  });
}

tw_status tw_scores_add(tw_scores* scores, const tw_tensor* output, const tw_tensor* target) {
  return guarded([&] {
    TW_REQUIRE(scores != nullptr && output != nullptr && target != nullptr, "an argument is a null pointer");
    const Tensor predicted = thalweg::capi::tensors_from(output, 1)[0];
    const Tensor wanted = thalweg::capi::tensors_from(target, 1)[0];
    TW_REQUIRE(predicted.shape().rank() > 0 && wanted.shape().rank() > 0 && predicted.shape()[0] == wanted.shape()[0],
               "an output of shape ", predicted.shape(), " and a target of shape ", wanted.shape(),
               " do not have the same rows");
    for (const auto& metric : scores->metrics) metric->add(predicted, wanted);
    if (scores->loss) scores->loss->add(predicted, wanted);
  });
}

tw_status tw_scores_state(const tw_scores* scores, tw_result** result) {
  return guarded([&] {
    TW_REQUIRE(scores != nullptr && result != nullptr, "the scores or the result is a null pointer");
    std::vector<double> all;
    for (const std::vector<double>& state : scores->states()) {
      all.push_back(static_cast<double>(state.size()));
      all.insert(all.end(), state.begin(), state.end());
    }
    Tensor tensor(thalweg::DType::kF64, {static_cast<int64_t>(all.size())});
    std::copy(all.begin(), all.end(), tensor.data<double>());
    *result = new tw_result{{tensor}, ""};
  });
}

tw_status tw_scores_merge(tw_scores* scores, const double* state, size_t count) {
  return guarded([&] {
    TW_REQUIRE(scores != nullptr && (state != nullptr || count == 0), "the scores or the state is a null pointer");
    std::span<const double> left(state, count);
    const auto take = [&] {
      TW_REQUIRE(!left.empty() && left[0] >= 0 && left[0] <= static_cast<double>(left.size() - 1),
                 "this is no state of these metrics");
      const auto size = static_cast<size_t>(left[0]);
      const auto part = left.subspan(1, size);
      left = left.subspan(1 + size);
      return part;
    };
    for (const auto& metric : scores->metrics) metric->merge(take());
    if (scores->loss) scores->loss->merge(take());
    TW_REQUIRE(left.empty(), "this is no state of these metrics");
  });
}

tw_status tw_scores_values(const tw_scores* scores, tw_result** result) {
  return guarded([&] {
    TW_REQUIRE(scores != nullptr && result != nullptr, "the scores or the result is a null pointer");
    nlohmann::ordered_json values = nlohmann::ordered_json::object();
    const auto set = [&](const std::string& name, double value) {
      values[name] = std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
    };
    if (scores->loss) set("loss", scores->loss->value());
    for (const auto& metric : scores->metrics) set(metric->name(), metric->value());
    *result = new tw_result{{}, values.dump()};
  });
}

void tw_scores_free(tw_scores* scores) { delete scores; }

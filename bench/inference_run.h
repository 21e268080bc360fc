// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <memory>

#include "bench/case_model.h"
#include "runtime/program.h"
#include "thalweg/passes.h"
#include "thalweg/zoo.h"

namespace thalweg::bench {

/// Forward passes of a zoo model in inference form, weights and batch by formula.
class InferenceRun {
 public:
  InferenceRun(const nlohmann::json& spec, int threads) {
    std::unique_ptr<Graph> graph = zoo::build(spec.at("model"), model_options(spec));
    nn::deterministic_initialise(*graph);
    inputs_ = make_batch(spec, 0);
    labels_ = inputs_.back();
    inputs_.pop_back();
    auto fixed = graph->specialize({inputs_[0].type()});
    for (Value* parameter : graph->parameters()) parameter->take_data();  // so that memory holds it once
    prepare_for_inference(*fixed);
    auto variables = std::make_shared<Variables>(*fixed);
    CompileOptions compile;
    compile.threads = threads;
    session_ = std::make_unique<Session>(Program::compile(std::move(fixed), variables, compile));
  }

  void step() { outputs_ = session_->run(inputs_); }

  /// The mean cross entropy of the last outputs with the case's labels.
  double loss() const {
    const Tensor& scores = outputs_.at(0);
    const int64_t rows = scores.shape()[0], classes = scores.shape()[1];
    double sum = 0;
    for (int64_t row = 0; row < rows; ++row) {
      const float* x = scores.data<float>() + row * classes;
      const double highest = *std::max_element(x, x + classes);
      double total = 0;
      for (int64_t c = 0; c < classes; ++c) total += std::exp(x[c] - highest);
      sum += std::log(total) + highest - x[labels_.data<int64_t>()[row]];
    }
    return sum / static_cast<double>(rows);
  }

  Session& session() { return *session_; }

 private:
  std::vector<Tensor> inputs_, outputs_;
  Tensor labels_;
  std::unique_ptr<Session> session_;
};

}  // namespace thalweg::bench

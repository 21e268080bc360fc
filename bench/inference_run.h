// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "bench/case_model.h"
#include "bench/cross_entropy.h"
#include "runtime/program.h"
#include "runtime/specialize.h"
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
    auto fixed = specialize(*graph, {inputs_[0].type()});
    for (Value* parameter : graph->parameters()) parameter->take_data();  // so that memory holds it once
    prepare_for_inference(*fixed, usable_precision(spec.value("bf16", false) ? Precision::kBF16 : Precision::kF32));
    auto variables = std::make_shared<Variables>(*fixed);
    CompileOptions compile;
    compile.threads = threads;
    compile.tuning = Tuning::kMeasured;
    session_ = std::make_unique<Session>(Program::compile(std::move(fixed), variables, compile));
  }

  void step() { outputs_ = session_->run(inputs_); }

  /// The mean cross entropy of the last outputs with the case's labels.
  double loss() const { return mean_cross_entropy(outputs_.at(0), labels_); }

  Session& session() { return *session_; }

 private:
  std::vector<Tensor> inputs_, outputs_;
  Tensor labels_;
  std::unique_ptr<Session> session_;
};

}  // namespace thalweg::bench

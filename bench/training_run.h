// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "bench/case_model.h"
#include "nn/init/deterministic.h"
#include "runtime/program.h"
#include "runtime/specialize.h"
#include "thalweg/losses.h"
#include "thalweg/ops/elementwise.h"
#include "thalweg/optim.h"
#include "thalweg/passes.h"
#include "thalweg/zoo.h"

namespace thalweg::bench {

/// Training of a zoo model as a golden file or a benchmark case describes it (tests/golden/make_golden.py lists the
/// fields): weights and batches by formula, loss, optimiser. Both sides of a comparison do exactly this.
class TrainingRun {
 public:
  TrainingRun(const nlohmann::json& spec, int threads) : spec_(spec), optimizer_(make_optimizer(spec)) {
    std::unique_ptr<Graph> graph = zoo::build(spec.at("model"), model_options(spec));
    nn::deterministic_initialise(*graph);
    add_loss(*graph);
    std::vector<TensorType> types;
    for (const Tensor& tensor : make_batch(spec, 0)) types.push_back(tensor.type());
    std::unordered_map<const Value*, Value*> mapping;
    Value* loss = graph->outputs().back();
    auto fixed = specialize(*graph, types, &mapping);
    for (Value* parameter : graph->parameters()) parameter->take_data();  // so that memory holds it once
    prepare_for_training(*fixed, mapping.at(loss),
                         usable_precision(spec.value("bf16", false) ? Precision::kBF16 : Precision::kF32));
    auto variables = std::make_shared<Variables>(*fixed);
    CompileOptions compile;
    compile.threads = threads;
    compile.training = true;
    session_ = std::make_unique<Session>(Program::compile(std::move(fixed), variables, compile));
    register_parameters();
    for (int k = 0; k < spec.value("batches", 1); ++k) batches_.push_back(make_batch(spec, k));
  }

  /// One step on the next batch; the loss before its update.
  double step() {
    const std::vector<Tensor>& inputs = batches_[steps_++ % batches_.size()];
    optimizer_.begin_step(spec_.at("lr"));
    const auto outputs = session_->run(inputs, [this](const GradientView& gradient) { update(gradient); });
    session_->program().variables().touch();
    return outputs.back().item();
  }

  Session& session() { return *session_; }
  Variables& variables() { return session_->program().variables(); }

 private:
  static optim::Optimizer make_optimizer(const nlohmann::json& spec) {
    const std::string name = spec.at("optimizer");
    if (name == "sgd") return optim::sgd({.momentum = spec.value("momentum", 0.9)});
    TW_REQUIRE(name == "adam" || name == "adam+sparse", "unknown optimiser ", name);
    return optim::adam();
  }

  void add_loss(Graph& graph) const {
    std::vector<int64_t> dims = spec_.at("inputs").back().at("shape");
    dims[0] = kFree;
    Value* output = graph.outputs()[0];
    Value* label = graph.input("label", {has_real_label(spec_) ? DType::kF32 : DType::kI64, Shape(dims)});
    const std::string kind = spec_.at("loss");
    Value* loss = nullptr;
    if (kind == "cross_entropy") loss = losses::cross_entropy(output, label);
    if (kind == "bce_with_logits") loss = losses::bce_with_logits(output, label);
    if (kind == "mse") loss = losses::mse(output, label);
    TW_REQUIRE(loss != nullptr, "unknown loss ", kind);
    graph.mark_output(loss, "loss");
  }

  void register_parameters() {
    slots_.assign(variables().size(), 0);
    for (const GradientSlot& slot : session_->program().gradients()) {
      const auto floats = static_cast<int64_t>(variables().layout(slot.variable).bytes() / sizeof(float));
      slots_[slot.variable] = optimizer_.add_parameter(variables().name(slot.variable), floats);
    }
  }

  void update(const GradientView& gradient) {
    auto* values = static_cast<float*>(variables().data(gradient.variable));
    const size_t size = variables().layout(gradient.variable).bytes() / sizeof(float);
    const size_t slot = slots_[gradient.variable];
    if (gradient.rows == nullptr) {
      optimizer_.update(slot, {values, size}, {gradient.dense, gradient.num_floats});
      return;
    }
    const auto rows = static_cast<size_t>(gradient.num_rows);
    const int64_t row_size = variables().type(gradient.variable).shape[1];
    optimizer_.update_rows(slot, {values, size}, row_size, {gradient.indices, rows},
                           {gradient.rows, rows * static_cast<size_t>(row_size)});
  }

  nlohmann::json spec_;
  optim::Optimizer optimizer_;
  std::unique_ptr<Session> session_;
  std::vector<std::vector<Tensor>> batches_;
  std::vector<size_t> slots_;
  size_t steps_ = 0;
};

}  // namespace thalweg::bench

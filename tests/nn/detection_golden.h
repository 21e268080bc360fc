// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/threads.h"
#include "nn/init/deterministic.h"
#include "runtime/program.h"
#include "runtime/specialize.h"
#include "support/source_dir.h"
#include "thalweg/optim.h"
#include "thalweg/passes.h"

/// What the tests of networks that find objects share: their golden files (tests/golden/make_ssd.py, make_yolact.py).
namespace thalweg::testing {

inline nlohmann::json read_golden(const std::string& name) {
  std::ifstream file(TW_SOURCE_DIR "/tests/golden/" + name + ".json");
  TW_REQUIRE(file.good(), "cannot read the golden file of ", name);
  return nlohmann::json::parse(file);
}

/// Pictures, boxes and kinds.
inline std::vector<Tensor> labelled_batch(const nlohmann::json& golden, int64_t size) {
  const nlohmann::json& objects = golden.at("objects");
  const auto pictures = static_cast<int64_t>(objects.size()), most = static_cast<int64_t>(objects[0].size());
  std::vector<float> boxes;
  std::vector<int64_t> kinds;
  for (const auto& picture : objects) {
    for (const auto& object : picture) {
      for (size_t i = 0; i < 4; ++i) boxes.push_back(object[i].get<float>());
      kinds.push_back(object[4].get<int64_t>());
    }
  }
  return {nn::deterministic_uniform("input.0", {pictures, 3, size, size}, 1.0),
          Tensor::from<float>({pictures, most, 4}, boxes), Tensor::from<int64_t>({pictures, most}, kinds)};
}

/// Every parameter, by the name that the published files have.
inline void expect_names_of_golden(const Graph& graph, const nlohmann::json& golden) {
  std::map<std::string, Shape> expected, actual;
  for (const auto& parameter : golden.at("parameters")) {
    expected[parameter[0]] = Shape(parameter[1].get<std::vector<int64_t>>());
  }
  for (const Value* parameter : graph.parameters()) actual[parameter->name()] = parameter->shape();
  EXPECT_EQ(actual, expected);
}

inline void expect_like_golden(const Tensor& value, const nlohmann::json& golden, const char* name) {
  const nlohmann::json& expected = golden.at(name);
  double sum = 0, abs_sum = 0;
  for (int64_t i = 0; i < value.num_elements(); ++i) {
    const auto element = static_cast<double>(value.data<float>()[i]);
    sum += element;
    abs_sum += std::fabs(element);
  }
  const double size = expected.at("abs_sum");
  EXPECT_NEAR(abs_sum, size, 1e-4 * size) << name;
  EXPECT_NEAR(sum, expected.at("sum").get<double>(), 1e-4 * size) << name;
  const double mean = size / static_cast<double>(value.num_elements());
  for (size_t i = 0; i < expected.at("every_997th").size(); ++i) {
    const double element = expected.at("every_997th")[i];
    const auto actual = static_cast<double>(value.data<float>()[i * 997]);
    ASSERT_NEAR(actual, element, 1e-3 * (mean + std::fabs(element))) << name << ' ' << i * 997;
  }
}

/// Trains a graph whose last output is the loss, as the golden file's script does.
class Training {
 public:
  Training(const Graph& graph, const std::vector<Tensor>& inputs) : optimizer_(optim::sgd({.momentum = 0.9})) {
    std::vector<TensorType> types;
    for (const Tensor& tensor : inputs) types.push_back(tensor.type());
    std::unordered_map<const Value*, Value*> mapping;
    auto fixed = specialize(graph, types, &mapping);
    prepare_for_training(*fixed, mapping.at(graph.outputs().back()), Precision::kF32);
    auto variables = std::make_shared<Variables>(*fixed);
    CompileOptions options;
    options.threads = available_processors();
    options.training = true;
    session_ = std::make_unique<Session>(Program::compile(std::move(fixed), variables, options));
    slots_.assign(variables->size(), 0);
    for (const GradientSlot& slot : session_->program().gradients()) {
      const auto floats = static_cast<int64_t>(variables->layout(slot.variable).bytes() / sizeof(float));
      slots_[slot.variable] = optimizer_.add_parameter(variables->name(slot.variable), floats);
    }
  }

  std::vector<Tensor> step(const std::vector<Tensor>& inputs, double rate) {
    Variables& variables = session_->program().variables();
    optimizer_.begin_step(rate);
    auto outputs = session_->run(inputs, [&](const GradientView& gradient) {
      auto* values = static_cast<float*>(variables.data(gradient.variable));
      const size_t size = variables.layout(gradient.variable).bytes() / sizeof(float);
      optimizer_.update(slots_[gradient.variable], {values, size}, {gradient.dense, gradient.num_floats});
    });
    variables.touch();
    return outputs;
  }

 private:
  optim::Optimizer optimizer_;
  std::unique_ptr<Session> session_;
  std::vector<size_t> slots_;
};

}  // namespace thalweg::testing

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "runtime/specialize.h"
#include "support/op_coverage.h"
#include "tensor/dtype.h"
#include "thalweg/autodiff.h"
#include "thalweg/ops.h"

namespace thalweg::testing {

Tensor random_tensor(DType dtype, const Shape& shape, uint64_t seed, double low, double high) {
  std::mt19937_64 engine(seed);
  Tensor result(dtype, shape);
  dispatch(dtype, [&](auto tag) {
    using T = decltype(tag);
    for (int64_t i = 0; i < result.num_elements(); ++i) {
      const double unit = static_cast<double>(engine() >> 11) * 0x1p-53;
      const double value = low + unit * (high - low);
      result.data<T>()[i] = convert_element<T>(is_floating(dtype) ? value : std::floor(value));
    }
  });
  return result;
}

std::vector<Tensor> run_graph(const Graph& graph, const std::vector<Tensor>& inputs, const CompileOptions& options) {
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back(input.type());
  auto copy = specialize(graph, types);
  auto variables = std::make_shared<Variables>(*copy);
  Session session(Program::compile(std::move(copy), variables, options));
  return session.run(inputs);
}

void expect_close(const Tensor& actual, const Tensor& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(actual.type(), expected.type()) << what;
  const Tensor a = actual.to(DType::kF64);
  const Tensor e = expected.to(DType::kF64);
  double largest = 0;
  for (int64_t i = 0; i < e.num_elements(); ++i) {
    if (std::isfinite(e.data<double>()[i])) largest = std::max(largest, std::fabs(e.data<double>()[i]));
  }
  for (int64_t i = 0; i < e.num_elements(); ++i) {
    const double x = a.data<double>()[i];
    const double y = e.data<double>()[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    ASSERT_LE(std::fabs(x - y), tolerance * (largest + 1e-3))
        << what << ": element " << i << " of " << e.num_elements() << " is " << x << ", expected " << y;
  }
}

namespace {

bool differentiable(const Operand& operand) { return is_floating(operand.dtype) && operand.differentiate; }

/// The graph of an op check: operands as inputs, then outputs, then (with gradients) one gradient per operand.
struct CheckGraph {
  Graph graph{"check"};
  std::vector<Tensor> inputs;
  size_t num_outputs = 0;
  std::vector<size_t> differentiated;  ///< operand numbers, in the order of the gradient outputs
};

Value* weighted_sum(Graph& graph, const std::vector<Value*>& outputs, DType dtype) {
  Value* loss = nullptr;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!is_floating(outputs[i]->dtype())) continue;
    Tensor weights = random_tensor(DType::kF64, outputs[i]->shape(), 1000 + i, 0.5, 1.5).to(outputs[i]->dtype());
    Value* part = ops::reduce_sum(ops::mul(outputs[i], graph.constant(weights)));
    part = ops::cast(part, dtype);
    loss = loss == nullptr ? part : ops::add(loss, part);
  }
  return loss;
}

void fill(CheckGraph& check, const std::vector<Operand>& operands, const BuildOp& build, DType dtype, bool gradients) {
  std::vector<Value*> values;
  for (size_t i = 0; i < operands.size(); ++i) {
    const DType own = is_floating(operands[i].dtype) ? dtype : operands[i].dtype;
    // Values are drawn in double and narrowed, so that checks in different types see the same numbers.
    const DType drawn = is_floating(own) ? DType::kF64 : own;
    check.inputs.push_back(random_tensor(drawn, operands[i].shape, 7 + i, operands[i].low, operands[i].high).to(own));
    values.push_back(check.graph.input("operand" + std::to_string(i), {own, operands[i].shape}));
  }
  const std::vector<Value*> outputs = build(values);
  for (Value* output : outputs) check.graph.mark_output(output);
  check.num_outputs = outputs.size();
  const size_t num_nodes = check.graph.nodes().size();
  const DType loss_type = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  Value* loss = weighted_sum(check.graph, outputs, loss_type);
  if (gradients && loss != nullptr) {
    std::vector<Value*> targets;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!differentiable(operands[i])) continue;
      targets.push_back(values[i]);
      check.differentiated.push_back(i);
    }
    if (dtype == DType::kF64) OpCoverage::instance().differentiated(check.graph, num_nodes, targets);
    for (const Gradient& gradient : differentiate(check.graph, loss, targets)) {
      Value* dense = gradient.dense;
      const TensorType& type = gradient.parameter->type();
      if (dense == nullptr) dense = check.graph.constant(Tensor::zeros(type.dtype, type.shape));
      if (gradient.is_sparse()) {
        dense = check.graph.add("scatter_rows_add", {dense, gradient.indices, gradient.rows})->output();
      }
      check.graph.mark_output(dense);
    }
  }
  if (loss != nullptr) check.graph.mark_output(loss);
  check.graph.remove_dead_nodes();
  check.graph.verify();
}

}  // namespace

void check_gradients(const std::vector<Operand>& operands, const BuildOp& build, const CheckOptions& options) {
  CheckGraph check;
  fill(check, operands, build, DType::kF64, true);
  auto copy = check.graph.clone();
  auto variables = std::make_shared<Variables>(*copy);
  CompileOptions reference;
  reference.only_kernels = {"reference"};
  Session session(Program::compile(std::move(copy), variables, reference));
  const std::vector<Tensor> base = session.run(check.inputs);
  const auto loss_at = [&](const std::vector<Tensor>& inputs) {
    session.set_step(0);  // random ops repeat themselves
    return session.run(inputs).back().item();
  };
  for (size_t g = 0; g < check.differentiated.size(); ++g) {
    const size_t operand = check.differentiated[g];
    const Tensor& analytic = base[check.num_outputs + g];
    Tensor numeric(DType::kF64, analytic.shape());
    std::vector<Tensor> inputs = check.inputs;
    inputs[operand] = inputs[operand].clone();
    for (int64_t i = 0; i < numeric.num_elements(); ++i) {
      double& x = inputs[operand].data<double>()[i];
      const double saved = x;
      x = saved + options.epsilon;
      const double above = loss_at(inputs);
      x = saved - options.epsilon;
      const double below = loss_at(inputs);
      x = saved;
      numeric.data<double>()[i] = (above - below) / (2 * options.epsilon);
    }
    expect_close(analytic, numeric, options.tolerance, "gradient of operand " + std::to_string(operand));
  }
}

namespace {

void compare_with_reference(const std::vector<Operand>& operands, const BuildOp& build,
                            const std::string& expect_kernel, double tolerance, bool gradients, DType dtype,
                            const CompileOptions& options) {
  CheckGraph check;
  fill(check, operands, build, dtype, gradients);
  CompileOptions reference;
  reference.only_kernels = {"reference"};
  const std::vector<Tensor> expected = run_graph(check.graph, check.inputs, reference);

  auto copy = check.graph.clone();
  auto variables = std::make_shared<Variables>(*copy);
  const auto program = Program::compile(std::move(copy), variables, options);
  OpCoverage::instance().compared(*program);
  const std::vector<Tensor> actual = Session(program).run(check.inputs);
  bool found = expect_kernel.empty();
  for (const Step& step : program->steps()) found |= step.kernel->name.find(expect_kernel) != std::string::npos;
  for (const Step& step : program->prologue()) found |= step.kernel->name.find(expect_kernel) != std::string::npos;
  EXPECT_TRUE(found) << "no kernel named " << expect_kernel << " ran:\n" << program->explain();
  // The last output is the sum used as the loss; it adds nothing to the parts and cancels badly.
  const size_t compared = check.num_outputs + check.differentiated.size();
  for (size_t i = 0; i < compared; ++i) {
    const std::string what = i < check.num_outputs
                                 ? "output " + std::to_string(i)
                                 : "gradient of operand " + std::to_string(check.differentiated[i - check.num_outputs]);
    expect_close(actual[i], expected[i], tolerance, what + "\n" + program->explain());
  }
}

}  // namespace

void check_fast_path(const std::vector<Operand>& operands, const BuildOp& build, const std::string& expect_kernel,
                     double tolerance, bool gradients, DType dtype) {
  compare_with_reference(operands, build, expect_kernel, tolerance, gradients, dtype, {});
}

void check_candidate(const std::vector<Operand>& operands, const BuildOp& build, const std::string& candidate,
                     double tolerance, int threads) {
  CompileOptions options;
  options.only_kernels = {candidate};
  options.threads = threads;
  compare_with_reference(operands, build, candidate, tolerance, true, DType::kF32, options);
}

}  // namespace thalweg::testing

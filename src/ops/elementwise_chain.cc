// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// elementwise_chain(inputs...) -> y: several elementwise functions in one node, made by a pass for inference.
// Attributes "functions", "operands" (two for each function) and "arguments" (two for each function) are a list of
// ChainStep.
#include "ops/elementwise_chain.h"

#include <sstream>

#include "graph/op_registry.h"
#include "ops/binary.h"
#include "ops/broadcast.h"
#include "ops/broadcast_index.h"
#include "ops/ids.h"
#include "ops/unary.h"
#include "tensor/dtype.h"

namespace thalweg {

namespace {

std::vector<std::string> function_names(const Attributes& attrs) {
  std::vector<std::string> names;
  std::istringstream text(attrs.text("functions"));
  for (std::string name; std::getline(text, name, ',');) names.push_back(name);
  return names;
}

}  // namespace

ChainSteps chain_steps(const Attributes& attrs) {
  const std::vector<std::string> functions = function_names(attrs);
  const std::vector<int64_t> operands = attrs.integers("operands");
  const std::vector<double> arguments = attrs.reals("arguments");
  ChainSteps steps;
  for (size_t i = 0; i < functions.size(); ++i) {
    steps.push_back({functions[i], static_cast<int>(operands[2 * i]), static_cast<int>(operands[2 * i + 1]),
                     arguments[2 * i], arguments[2 * i + 1]});
  }
  return steps;
}

Attributes chain_attributes(const ChainSteps& steps) {
  std::string functions;
  std::vector<int64_t> operands;
  std::vector<double> arguments;
  for (const ChainStep& step : steps) {
    functions += (functions.empty() ? "" : ",") + step.function;
    operands.insert(operands.end(), {step.left, step.right});
    arguments.insert(arguments.end(), {step.a, step.b});
  }
  return {{"functions", functions}, {"operands", operands}, {"arguments", arguments}};
}

namespace {

void check_step(const InferContext& context, const ChainStep& step, int64_t known) {
  const bool one = find_unary(step.function) != nullptr, two = find_binary(step.function) != nullptr;
  context.require(one || two, "'", step.function, "' is no function of a chain");
  const auto exists = [&](int operand) { return operand >= 0 && operand < known; };
  context.require(exists(step.left) && (two ? exists(step.right) : step.right == -1), "the operands of ", step.function,
                  " do not exist");
}

std::vector<TensorType> infer(const InferContext& context) {
  const Attributes& attrs = context.attrs();
  const size_t count = function_names(attrs).size();
  context.require(
      count > 0 && attrs.integers("operands").size() == 2 * count && attrs.reals("arguments").size() == 2 * count,
      "a chain needs functions, with two operands and two arguments each");
  Shape shape = context.shape(0);
  for (size_t i = 0; i < context.num_inputs(); ++i) {
    context.require(context.dtype(i) == context.dtype(0), "element types differ");
    shape = broadcast_shapes(context, shape, context.shape(i));
  }
  auto known = static_cast<int64_t>(context.num_inputs());
  for (const ChainStep& step : chain_steps(attrs)) check_step(context, step, known++);
  return {{context.dtype(0), shape}};
}

double value_of(const ChainStep& step, const std::vector<double>& values) {
  const double left = values[static_cast<size_t>(step.left)];
  if (step.right < 0) return find_unary(step.function)->value(left, step.a, step.b);
  return find_binary(step.function)(left, values[static_cast<size_t>(step.right)]);
}

void compute(const ReferenceCall& call) {
  const ChainSteps steps = chain_steps(call.attrs());
  const size_t count = call.node.inputs().size();
  std::vector<BroadcastIndex> index;
  for (size_t k = 0; k < count; ++k) index.emplace_back(call.in(k).shape(), call.out().shape());
  dispatch_real(call.out().dtype(), [&](auto tag) {
    using T = decltype(tag);
    std::vector<double> values(count + steps.size());
    for (int64_t i = 0; i < call.out().num_elements(); ++i) {
      for (size_t k = 0; k < count; ++k) values[k] = static_cast<double>(call.in(k).template data<T>()[index[k](i)]);
      // As each function by itself would round.
      for (size_t s = 0; s < steps.size(); ++s) {
        values[count + s] = static_cast<double>(static_cast<T>(value_of(steps[s], values)));
      }
      call.out().template data<T>()[i] = static_cast<T>(values.back());
    }
  });
}

const RegisterOp kChain(op::kElementwiseChain, {1, -1}, "", infer, nullptr,
                        {attr::text("functions", "", "their names, with commas between").needed(),
                         attr::integers("operands", "two of each function").needed(),
                         attr::reals("arguments", "two of each function").needed()},
                        {.reference = compute, .traits = Trait::kElementwise, .data_inputs = -1});

}  // namespace
}  // namespace thalweg

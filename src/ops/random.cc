// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// random_uniform() and random_normal(): numbers drawn anew in every run, at inference as in training. Their kernels are
// in the runtime, which has the generator.
#include "ops/random.h"

#include "graph/op_registry.h"
#include "ops/ids_rare.h"

namespace thalweg {
namespace {

std::vector<TensorType> infer(const InferContext& context) {
  const DType dtype = dtype_from_name(context.attrs().text("dtype"));
  context.require(is_floating(dtype), "numbers are drawn as floats, not as ", dtype);
  // Like an input, whose content does not matter, or of a shape that is said.
  return {{dtype, context.has(0) ? context.shape(0) : Shape(context.attrs().integers("shape"))}};
}

std::vector<AttributeDef> with_common(std::vector<AttributeDef> own) {
  own.push_back(attr::integer("seed", 0, "what the numbers of a step follow from"));
  own.push_back(attr::dtype("dtype", "f32", "of the numbers"));
  own.push_back(attr::integers("shape", "of the result, where there is no input that has it").at_least(0));
  return own;
}

const OpDef kDraws{.zero_gradient = true, .impure = true, .data_inputs = 0};
const RegisterOp kUniform(op::kRandomUniform, {0, 1}, "Numbers drawn evenly from an interval, in every run anew.",
                          infer, nullptr,
                          with_common({attr::real("low", 0.0, "the least number"),
                                       attr::real("high", 1.0, "what is above all numbers")}),
                          kDraws);
const RegisterOp kNormal(op::kRandomNormal, {0, 1}, "Numbers of a normal distribution, in every run anew.", infer,
                         nullptr,
                         with_common({attr::real("mean", 0.0, "of the numbers"),
                                      attr::real("deviation", 1.0, "the standard deviation")}),
                         kDraws);

Value* draw(OpId op, Graph& graph, Value* like, const Shape& shape, Attributes attrs, DType dtype, int64_t seed) {
  attrs.set("seed", seed);
  attrs.set("dtype", std::string(name_of(dtype)));
  if (like == nullptr) attrs.set("shape", shape.dims());
  return graph.add(op, like != nullptr ? std::vector<Value*>{like} : std::vector<Value*>{}, std::move(attrs))->output();
}

}  // namespace

namespace ops {

Value* random_uniform(Graph& graph, Value* like, const Shape& shape, double low, double high, DType dtype,
                      int64_t seed) {
  return draw(op::kRandomUniform, graph, like, shape, {{"low", low}, {"high", high}}, dtype, seed);
}

Value* random_normal(Graph& graph, Value* like, const Shape& shape, double mean, double deviation, DType dtype,
                     int64_t seed) {
  return draw(op::kRandomNormal, graph, like, shape, {{"mean", mean}, {"deviation", deviation}}, dtype, seed);
}

}  // namespace ops
}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/exporter.h"
#include "formats/onnx/tensor_data.h"

namespace thalweg::onnx {
namespace {

/// A function with the attributes alpha and beta, of which ONNX has as many as are named here.
NodeWriter with_arguments(const char* op_type, const char* alpha, const char* beta = nullptr) {
  return [=](Exporter& exporter, const Node& node) {
    std::vector<AttributeProto> attributes = {real_attribute(alpha, node.attrs().real("alpha"))};
    if (beta != nullptr) attributes.push_back(real_attribute(beta, node.attrs().real("beta")));
    exporter.emit(node.output(), op_type, {exporter.name(node.input(0))}, attributes);
  };
}

void write_gelu_tanh(Exporter& exporter, const Node& node) {
  exporter.emit(node.output(), "Gelu", {exporter.name(node.input(0))}, {text_attribute("approximate", "tanh")});
}

void write_silu(Exporter& exporter, const Node& node) {
  const std::string x = exporter.name(node.input(0));
  exporter.emit(node.output(), "Mul", {x, exporter.emit("Sigmoid", {x})});
}

void write_log_sigmoid(Exporter& exporter, const Node& node) {
  const std::string negative = exporter.emit("Neg", {exporter.name(node.input(0))});
  exporter.emit(node.output(), "Neg", {exporter.emit("Softplus", {negative})});
}

void write_softplus(Exporter& exporter, const Node& node) {
  const std::string x = exporter.name(node.input(0));
  const double beta = node.attrs().real("beta", 1.0);
  if (beta == 1.0) return exporter.emit(node.output(), "Softplus", {x});
  const std::string factor = exporter.number(node.input(0), beta);
  exporter.emit(node.output(), "Div", {exporter.emit("Softplus", {exporter.emit("Mul", {x, factor})}), factor});
}

void write_shrink(Exporter& exporter, const Node& node) {
  const double lambda = node.attrs().real("alpha");
  exporter.emit(
      node.output(), "Shrink", {exporter.name(node.input(0))},
      {real_attribute("lambd", lambda), real_attribute("bias", node.op_name() == "soft_shrink" ? lambda : 0)});
}

void write_tanh_shrink(Exporter& exporter, const Node& node) {
  const std::string x = exporter.name(node.input(0));
  exporter.emit(node.output(), "Sub", {x, exporter.emit("Tanh", {x})});
}

void write_threshold(Exporter& exporter, const Node& node) {
  const std::string x = exporter.name(node.input(0));
  const std::string above = exporter.emit("Greater", {x, exporter.number(node.input(0), node.attrs().real("alpha"))});
  exporter.emit(node.output(), "Where", {above, x, exporter.number(node.input(0), node.attrs().real("beta"))});
}

void write_clip(Exporter& exporter, const Node& node) {
  exporter.emit(node.output(), "Clip",
                {exporter.name(node.input(0)), exporter.number(node.input(0), node.attrs().real("alpha")),
                 exporter.number(node.input(0), node.attrs().real("beta"))});
}

void write_rsqrt(Exporter& exporter, const Node& node) {
  exporter.emit(node.output(), "Reciprocal", {exporter.emit("Sqrt", {exporter.name(node.input(0))})});
}

void write_square(Exporter& exporter, const Node& node) {
  const std::string x = exporter.name(node.input(0));
  exporter.emit(node.output(), "Mul", {x, x});
}

void write_cast(Exporter& exporter, const Node& node) {
  exporter.emit(node.output(), "Cast", {exporter.name(node.input(0))},
                {integer_attribute("to", static_cast<int64_t>(data_type_of(node.output()->dtype())))});
}

const RegisterWriters kWriters({
    {"add", same_as("Add")},
    {"sub", same_as("Sub")},
    {"mul", same_as("Mul")},
    {"div", same_as("Div")},
    {"pow", same_as("Pow")},
    {"minimum", same_as("Min")},
    {"maximum", same_as("Max")},
    {"equal", same_as("Equal")},
    {"less", same_as("Less")},
    {"less_equal", same_as("LessOrEqual")},
    {"greater", same_as("Greater")},
    {"greater_equal", same_as("GreaterOrEqual")},
    {"logical_and", same_as("And")},
    {"logical_or", same_as("Or")},
    {"logical_xor", same_as("Xor")},
    {"logical_not", same_as("Not")},
    {"where", same_as("Where")},
    {"cast", write_cast},
    {"relu", same_as("Relu")},
    {"leaky_relu", with_arguments("LeakyRelu", "alpha")},
    {"elu", with_arguments("Elu", "alpha")},
    {"celu", with_arguments("Celu", "alpha")},
    {"selu", same_as("Selu")},
    {"gelu", same_as("Gelu")},
    {"gelu_tanh", write_gelu_tanh},
    {"silu", write_silu},
    {"mish", same_as("Mish")},
    {"sigmoid", same_as("Sigmoid")},
    {"log_sigmoid", write_log_sigmoid},
    {"hard_sigmoid", with_arguments("HardSigmoid", "alpha", "beta")},
    {"hard_swish", same_as("HardSwish")},
    {"tanh", same_as("Tanh")},
    {"softplus", write_softplus},
    {"softsign", same_as("Softsign")},
    {"hard_shrink", write_shrink},
    {"soft_shrink", write_shrink},
    {"tanh_shrink", write_tanh_shrink},
    {"threshold", write_threshold},
    {"clip", write_clip},
    {"exp", same_as("Exp")},
    {"log", same_as("Log")},
    {"sqrt", same_as("Sqrt")},
    {"rsqrt", write_rsqrt},
    {"square", write_square},
    {"reciprocal", same_as("Reciprocal")},
    {"abs", same_as("Abs")},
    {"neg", same_as("Neg")},
    {"sign", same_as("Sign")},
    {"floor", same_as("Floor")},
    {"ceil", same_as("Ceil")},
    {"round", same_as("Round")},
    {"erf", same_as("Erf")},
    {"sin", same_as("Sin")},
    {"cos", same_as("Cos")},
    {"tan", same_as("Tan")},
    {"asin", same_as("Asin")},
    {"acos", same_as("Acos")},
    {"atan", same_as("Atan")},
    {"sinh", same_as("Sinh")},
    {"cosh", same_as("Cosh")},
    {"asinh", same_as("Asinh")},
    {"acosh", same_as("Acosh")},
    {"atanh", same_as("Atanh")},
});

}  // namespace
}  // namespace thalweg::onnx

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/exporter.h"
#include "formats/onnx/tensor_data.h"
#include "ops/ids.h"

namespace thalweg::onnx {
namespace {

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
  const double beta = node.attrs().real("beta");
  if (beta == 1.0) return exporter.emit(node.output(), "Softplus", {x});
  const std::string factor = exporter.number(node.input(0), beta);
  exporter.emit(node.output(), "Div", {exporter.emit("Softplus", {exporter.emit("Mul", {x, factor})}), factor});
}

void write_shrink(Exporter& exporter, const Node& node) {
  const double lambda = node.attrs().real("lambd");
  exporter.emit(
      node.output(), "Shrink", {exporter.name(node.input(0))},
      {real_attribute("lambd", lambda), real_attribute("bias", node.op_name() == op::kSoftShrink ? lambda : 0)});
}

void write_tanh_shrink(Exporter& exporter, const Node& node) {
  const std::string x = exporter.name(node.input(0));
  exporter.emit(node.output(), "Sub", {x, exporter.emit("Tanh", {x})});
}

void write_threshold(Exporter& exporter, const Node& node) {
  const std::string x = exporter.name(node.input(0));
  const std::string above =
      exporter.emit("Greater", {x, exporter.number(node.input(0), node.attrs().real("threshold"))});
  exporter.emit(node.output(), "Where", {above, x, exporter.number(node.input(0), node.attrs().real("value"))});
}

void write_clip(Exporter& exporter, const Node& node) {
  exporter.emit(node.output(), "Clip",
                {exporter.name(node.input(0)), exporter.number(node.input(0), node.attrs().real("low")),
                 exporter.number(node.input(0), node.attrs().real("high"))});
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
    {op::kCast, write_cast},
    {op::kGeluTanh, write_gelu_tanh},
    {op::kSilu, write_silu},
    {op::kLogSigmoid, write_log_sigmoid},
    {op::kSoftplus, write_softplus},
    {op::kHardShrink, write_shrink},
    {op::kSoftShrink, write_shrink},
    {op::kTanhShrink, write_tanh_shrink},
    {op::kThreshold, write_threshold},
    {op::kClip, write_clip},
    {op::kRsqrt, write_rsqrt},
    {op::kSquare, write_square},
});

}  // namespace
}  // namespace thalweg::onnx

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/exporter.h"
#include "formats/onnx/tensor_data.h"
#include "ops/ids.h"
#include "ops/ids_rare.h"

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

/// log(1 + x), exact near 0: what the sum was rounded by is made up for.
void write_log1p(Exporter& exporter, const Node& node) {
  const std::string x = exporter.name(node.input(0)), one = exporter.number(node.input(0), 1);
  const std::string sum = exporter.emit("Add", {x, one});
  const std::string held = exporter.emit("Sub", {sum, one});
  const std::string logarithm = exporter.emit("Log", {sum});
  const std::string mended = exporter.emit("Div", {exporter.emit("Mul", {logarithm, x}), held});
  // Where nothing was rounded, which holds for infinity too, the quotient is not needed; of 0 there would be none.
  const std::string same = exporter.emit("Equal", {held, x});
  const std::string chosen = exporter.emit("Where", {same, logarithm, mended});
  exporter.emit(node.output(), "Where", {exporter.emit("Equal", {sum, one}), x, chosen});
}

/// exp(x) - 1 = tanh(x / 2) * (exp(x) + 1), which loses nothing near 0.
void write_expm1(Exporter& exporter, const Node& node) {
  const std::string x = exporter.name(node.input(0)), one = exporter.number(node.input(0), 1);
  const std::string half = exporter.emit("Mul", {x, exporter.number(node.input(0), 0.5)});
  exporter.emit(node.output(), "Mul",
                {exporter.emit("Tanh", {half}), exporter.emit("Add", {exporter.emit("Exp", {x}), one})});
}

/// Of floats ONNX has the remainder with the sign of the dividend only.
void write_modulo(Exporter& exporter, const Node& node) {
  const bool floating = is_floating(node.input(0)->dtype()), truncated = node.attrs().flag("truncated");
  const std::string a = exporter.name(node.input(0)), b = exporter.name(node.input(1));
  if (truncated || !floating) {
    return exporter.emit(node.output(), "Mod", {a, b}, {integer_attribute("fmod", truncated ? 1 : 0)});
  }
  const std::string zero = exporter.number(node.input(0), 0);
  const std::string rest = exporter.emit("Mod", {a, b}, {integer_attribute("fmod", 1)});
  const std::string apart =
      exporter.emit("Xor", {exporter.emit("Less", {rest, zero}), exporter.emit("Less", {b, zero})});
  const std::string is_left = exporter.emit("Not", {exporter.emit("Equal", {rest, zero})});
  exporter.emit(node.output(), "Where",
                {exporter.emit("And", {is_left, apart}), exporter.emit("Add", {rest, b}), rest});
}

void write_element_count(Exporter& exporter, const Node& node) {
  const std::vector<int64_t> axes = node.attrs().integers("axes");
  std::string extents = exporter.emit("Shape", {exporter.name(node.input(0))});
  if (!axes.empty()) extents = exporter.emit("Gather", {extents, exporter.integers(axes)});
  const std::string count = exporter.emit("ReduceProd", {extents}, {integer_attribute("keepdims", 0)});
  exporter.emit(node.output(), "Cast", {count},
                {integer_attribute("to", static_cast<int64_t>(data_type_of(node.output()->dtype())))});
}

const RegisterWriters kWriters({
    {op::kCast, write_cast},
    {op::kLog1p, write_log1p},
    {op::kExpm1, write_expm1},
    {op::kModulo, write_modulo},
    {op::kElementCount, write_element_count},
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

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Recurrent layers: ONNX has the time first, and the gates in another order.
#include <cstring>

#include "formats/onnx/exporter.h"
#include "ops/ids.h"
#include "ops/rnn_operands.h"

namespace thalweg::onnx {
namespace {

/// The place in the engine of each of ONNX's gates: i, f, g, o there, i, o, f, c here; r, z, n there, z, r, h here.
std::vector<int64_t> onnx_order(RnnKind kind) {
  if (kind == RnnKind::kLstm) return {0, 3, 1, 2};
  return kind == RnnKind::kGru ? std::vector<int64_t>{1, 0, 2} : std::vector<int64_t>{0};
}

/// Appends the gates of `from` to `out` in ONNX's order.
void append_gates(const Tensor& from, const std::vector<int64_t>& order, char*& out) {
  const size_t each = from.num_bytes() / order.size();
  for (const int64_t gate : order) {
    std::memcpy(out, static_cast<const char*>(from.raw()) + static_cast<size_t>(gate) * each, each);
    out += each;
  }
}

std::string weights(Exporter& exporter, const Value* value, const std::vector<int64_t>& order) {
  const Tensor from = exporter.content(value);
  Tensor result(from.dtype(), {1, from.shape()[0], from.shape()[1]});
  auto* out = static_cast<char*>(result.raw());
  append_gates(from, order, out);
  return exporter.constant(result, value->name());
}

std::string biases(Exporter& exporter, const Value* input, const Value* hidden, const std::vector<int64_t>& order) {
  if (input == nullptr && hidden == nullptr) return "";
  const int64_t size = (input != nullptr ? input : hidden)->shape()[0];
  Tensor result = Tensor::zeros(DType::kF32, {1, 2 * size});
  for (const auto& [value, half] : {std::pair{input, 0}, std::pair{hidden, 1}}) {
    if (value == nullptr) continue;
    char* out = static_cast<char*>(result.raw()) + static_cast<size_t>(half * size) * sizeof(float);
    append_gates(exporter.content(value), order, out);
  }
  return exporter.constant(result, (input != nullptr ? input : hidden)->name());
}

std::string state(Exporter& exporter, const Value* value) {
  return value == nullptr ? "" : exporter.emit("Unsqueeze", {exporter.name(value), exporter.integers({0})});
}

void write_rnn(Exporter& exporter, const Node& node) {
  const RnnKind kind = rnn_kind(node.op_name());
  const std::vector<int64_t> order = onnx_order(kind);
  const int64_t hidden = node.input(RnnInput::kWHidden)->shape()[1];
  const std::string x =
      exporter.emit("Transpose", {exporter.name(node.input(RnnInput::kX))}, {integers_attribute("perm", {1, 0, 2})});
  std::vector<std::string> inputs = {
      x,
      weights(exporter, node.input(RnnInput::kWInput), order),
      weights(exporter, node.input(RnnInput::kWHidden), order),
      biases(exporter, node.input(RnnInput::kBInput), node.input(RnnInput::kBHidden), order),
      "",
      state(exporter, node.input(RnnInput::kH0))};
  if (kind == RnnKind::kLstm) inputs.push_back(state(exporter, node.input(RnnInput::kC0)));
  std::vector<AttributeProto> attributes = {
      integer_attribute("hidden_size", hidden),
      text_attribute("direction", node.attrs().flag("reverse") ? "reverse" : "forward")};
  if (kind == RnnKind::kGru) attributes.push_back(integer_attribute("linear_before_reset", 1));
  if (kind == RnnKind::kPlain && node.attrs().text("activation") == op::kRelu) {
    AttributeProto activations;
    activations.name = "activations";
    activations.type = AttributeProto::Type::kStrings;
    activations.strings = {"Relu"};
    attributes.push_back(activations);
  }
  const char* op_type = kind == RnnKind::kLstm ? "LSTM" : kind == RnnKind::kGru ? "GRU" : "RNN";
  const std::vector<std::string> out = exporter.emit_many(op_type, inputs, kind == RnnKind::kLstm ? 3 : 2, attributes);
  const std::string y = exporter.emit("Squeeze", {out[0], exporter.integers({1})});
  exporter.emit(node.output(RnnOutput::kY), "Transpose", {y}, {integers_attribute("perm", {1, 0, 2})});
  exporter.emit(node.output(RnnOutput::kHN), "Squeeze", {out[1], exporter.integers({0})});
  if (kind == RnnKind::kLstm) {
    exporter.emit(node.output(RnnOutput::kCN), "Squeeze", {out[2], exporter.integers({0})});
  }
}

const RegisterWriters kWriters({{op::kLstm, write_rnn}, {op::kGru, write_rnn}, {op::kRnn, write_rnn}});

}  // namespace
}  // namespace thalweg::onnx

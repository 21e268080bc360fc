// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Conversions between numbers and texts, which no program can hold.
#include "formats/onnx/proto.h"
#include "formats/onnx/tensor_data.h"
#include "graph/host_op.h"
#include "ops/text_case.h"

namespace thalweg::onnx {
namespace {

std::vector<Tensor> cast(const HostContext& call) {
  const auto type = static_cast<DataType>(call.integer("to", 0));
  const auto dtype = dtype_of(type);
  TW_REQUIRE(dtype.has_value(), "element type ", name_of(type), " is not supported");
  return {text::converted(call.input(0), *dtype)};
}

std::vector<Tensor> cast_like(const HostContext& call) {
  return {text::converted(call.input(0), call.input(1).dtype())};
}

const RegisterHost kCast("onnx.Cast", cast);
const RegisterHost kCastLike("onnx.CastLike", cast_like);

}  // namespace
}  // namespace thalweg::onnx

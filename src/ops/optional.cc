// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Values that need not be there. One that is, is the value itself.
#include "graph/host_op.h"
#include "thalweg/stored_types.h"

namespace thalweg {
namespace {

bool is_there(const HostContext& call) { return call.has(0) && call.input(0).dtype() != stored::kNothing; }

std::vector<Tensor> optional(const HostContext& call) { return {call.has(0) ? call.input(0) : stored::nothing()}; }

std::vector<Tensor> has_element(const HostContext& call) { return {Tensor::scalar<bool>(is_there(call))}; }

std::vector<Tensor> get_element(const HostContext& call) {
  TW_REQUIRE(is_there(call), "the optional value has none");
  return {call.input(0)};
}

const RegisterHost kOptional("onnx.Optional", optional);
const RegisterHost kHasElement("onnx.OptionalHasElement", has_element);
const RegisterHost kGetElement("onnx.OptionalGetElement", get_element);

}  // namespace
}  // namespace thalweg

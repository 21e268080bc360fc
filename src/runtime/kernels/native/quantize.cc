// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/quantize.h"

#include <algorithm>

#include "ops/ids.h"
#include "ops/quantized_result.h"
#include "runtime/kernel.h"
#include "runtime/kernels/native/ranges.h"

namespace thalweg {
namespace {

/// Scale and zero that are single numbers apply to the elements in whatever order they lie. Padding is left out: zeros
/// there would not stay zeros.
bool elementwise(const KernelRequest& request, DType bytes, std::string& declined) {
  const Node& node = request.node;
  if (!is_byte(bytes)) declined = std::string("element type ") + name_of(bytes);
  if (node.input(1)->shape().rank() != 0) declined = "more than one scale";
  if (has_empty_operand(node)) declined = "an operand has no elements";
  return declined.empty();
}

Layout unpadded(const Layout& layout) { return layout.padded() ? Layout(layout.type()) : layout; }

float number(const KernelArguments& arguments, size_t index) {
  return *static_cast<const float*>(arguments.inputs[index]);
}

/// The zero point, 0 if there is none.
float zero_point(const KernelArguments& arguments, bool is_signed) {
  if (arguments.inputs.size() < 3 || arguments.inputs[2] == nullptr) return 0.0f;
  return is_signed ? static_cast<float>(*static_cast<const int8_t*>(arguments.inputs[2]))
                   : static_cast<float>(*static_cast<const uint8_t*>(arguments.inputs[2]));
}

/// A kernel whose input 0 and output lie alike.
std::unique_ptr<Kernel> finished(const KernelRequest& request, std::unique_ptr<FunctionKernel> kernel) {
  const Node& node = request.node;
  kernel->name = "native";
  kernel->inputs = plain_inputs(node);
  kernel->inputs[0] = unpadded(request.inputs[0]);
  kernel->outputs = {kernel->inputs[0].with_dtype(node.output()->dtype())};
  return kernel;
}

/// Deals the elements, from X to Y, out to the threads; scale and zero are inputs 1 and 2.
template <typename Call, typename X, typename Y>
std::unique_ptr<Kernel> make(const KernelRequest& request, DType bytes, void (*run)(const Call&),
                             std::string& declined) {
  if (!elementwise(request, bytes, declined)) return nullptr;
  const int64_t count = request.node.output()->shape().num_elements();
  const bool is_signed = bytes == DType::kI8;
  return finished(request, std::make_unique<FunctionKernel>([=](const KernelArguments& arguments) {
                    Call call;
                    call.is_signed = is_signed;
                    call.scale = number(arguments, 1);
                    call.zero = zero_point(arguments, is_signed);
                    in_ranges(count, count, arguments.threads, [&](int64_t, int64_t begin, int64_t end) {
                      Call part = call;
                      part.x = static_cast<const X*>(arguments.inputs[0]) + begin;
                      part.y = static_cast<Y*>(arguments.outputs[0]) + begin;
                      part.count = end - begin;
                      run(part);
                    });
                  }));
}

std::unique_ptr<Kernel> make_quantize(const KernelRequest& request, std::string& declined) {
  return make<simd::QuantizeCall, float, uint8_t>(request, request.node.output()->dtype(), simd::quantize, declined);
}

std::unique_ptr<Kernel> make_dequantize(const KernelRequest& request, std::string& declined) {
  return make<simd::DequantizeCall, uint8_t, float>(request, request.node.input(0)->dtype(), simd::dequantize,
                                                    declined);
}

simd::QuantizedAddCall read_sum(const Node& node) {
  const Attributes& attrs = node.attrs();
  simd::QuantizedAddCall call;
  call.a_is_signed = node.input(0)->dtype() == DType::kI8;
  call.b_is_signed = node.input(1)->dtype() == DType::kI8;
  call.y_is_signed = node.output()->dtype() == DType::kI8;
  call.a_factor = static_cast<float>(attrs.real("a_factor"));
  call.b_factor = static_cast<float>(attrs.real("b_factor"));
  call.offset = static_cast<float>(attrs.real("offset"));
  const double lowest = call.y_is_signed ? -128.0 : 0.0;
  call.low = static_cast<float>(std::clamp(attrs.real("low"), lowest, lowest + 255.0));
  call.high = static_cast<float>(std::clamp(attrs.real("high"), lowest, lowest + 255.0));
  return call;
}

std::unique_ptr<Kernel> make_add(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  if (has_empty_operand(node)) {
    declined = "an operand has no elements";
    return nullptr;
  }
  const simd::QuantizedAddCall call = read_sum(node);
  const int64_t count = node.output()->shape().num_elements();
  auto kernel = std::make_unique<FunctionKernel>([=](const KernelArguments& arguments) {
    in_ranges(count, count, arguments.threads, [&](int64_t, int64_t begin, int64_t end) {
      simd::QuantizedAddCall part = call;
      part.a = static_cast<const uint8_t*>(arguments.inputs[0]) + begin;
      part.b = static_cast<const uint8_t*>(arguments.inputs[1]) + begin;
      part.y = static_cast<uint8_t*>(arguments.outputs[0]) + begin;
      part.count = end - begin;
      simd::quantized_add(part);
    });
  });
  kernel->name = "native";
  const Layout layout = unpadded(request.inputs[0].is_plain() ? request.inputs[1] : request.inputs[0]);
  kernel->inputs = {layout.with_dtype(node.input(0)->dtype()), layout.with_dtype(node.input(1)->dtype())};
  kernel->outputs = {layout.with_dtype(node.output()->dtype())};
  kernel->in_place = {{0, 0}, {1, 0}};
  return kernel;
}

const RegisterKernel kQuantize(op::kQuantize, "native", KernelPriority::kNative, make_quantize);
const RegisterKernel kDequantize(op::kDequantize, "native", KernelPriority::kNative, make_dequantize);
const RegisterKernel kAdd(op::kQuantizedAdd, "native", KernelPriority::kNative, make_add);

}  // namespace
}  // namespace thalweg

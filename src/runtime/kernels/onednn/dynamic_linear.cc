// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/cpu.h"
#include "ops/ids.h"
#include "runtime/kernels/native/ranges.h"
#include "runtime/kernels/onednn/onednn_kernel.h"
#include "runtime/kernels/simd/quantize.h"

namespace thalweg {
namespace {

using dnnl::memory;

constexpr int kMaxThreads = 256;

/// Finds the range of x, quantises it into scratch memory, and multiplies.
class DynamicLinearKernel : public Kernel {
 public:
  DynamicLinearKernel(const Node& node, bool fixed_weights) {
    const Layout x(node.input(0)->type()), y(node.output()->type());
    const int64_t columns = x.shape()[-1], channels = y.shape()[-1];
    rows_ = x.shape().num_elements() / columns;
    const TensorType weight = node.input(1)->type();
    dnnl::primitive_attr attr = onednn_attr();
    attr.set_scales_mask(DNNL_ARG_SRC, 0);
    attr.set_zero_points_mask(DNNL_ARG_SRC, 0);
    attr.set_scales_mask(DNNL_ARG_WEIGHTS, 2);
    source_ = {{rows_, columns}, memory::data_type::u8, memory::format_tag::ab};
    result_ = {{rows_, channels}, memory::data_type::f32, memory::format_tag::ab};
    has_bias_ = node.input(3) != nullptr;
    if (has_bias_) bias_ = {{1, channels}, memory::data_type::f32, memory::format_tag::ab};
    // Rearranging weights pays only if it is done once.
    const memory::desc asked = fixed_weights ? any_layout(weight) : Layout(weight).desc();
    const dnnl::matmul::primitive_desc pd(dnnl_engine(), source_, asked, bias_, result_, attr);
    primitive_ = dnnl::matmul(pd);
    scratchpad_ = pd.scratchpad_desc();
    name = std::string("onednn ") + pd.impl_info_str();
    inputs = plain_inputs(node);
    inputs[1] = Layout(weight, pd.weights_desc());
    outputs = {y};
    scratch_bytes = integer_bytes() + scratchpad_.get_size();
  }

  void run(const KernelArguments& arguments) const override {
    const auto* x = static_cast<const float*>(arguments.inputs[0]);
    auto* integers = static_cast<uint8_t*>(arguments.scratch);
    const int64_t count = inputs[0].shape().num_elements();
    const simd::QuantizeCall encoding = encode(x, count, arguments.threads);
    in_ranges(count, count, arguments.threads, [&](int64_t, int64_t begin, int64_t end) {
      simd::QuantizeCall part = encoding;
      part.x = x + begin;
      part.y = integers + begin;
      part.count = end - begin;
      simd::quantize(part);
    });
    multiply(arguments, encoding, integers);
  }

 private:
  size_t integer_bytes() const { return (source_.get_size() + 63) / 64 * 64; }

  static simd::QuantizeCall encode(const float* x, int64_t count, int threads) {
    float lows[kMaxThreads] = {}, highs[kMaxThreads] = {};
    in_ranges(count, count, std::min(threads, kMaxThreads), [&](int64_t part, int64_t begin, int64_t end) {
      simd::value_range({x + begin, end - begin, &lows[part], &highs[part]});
    });
    const float low = *std::min_element(lows, lows + kMaxThreads), high = *std::max_element(highs, highs + kMaxThreads);
    simd::QuantizeCall call;
    call.scale = (high - low) / 255.0f;
    if (!(call.scale > 0.0f)) call.scale = 1.0f;
    call.zero = std::clamp(std::nearbyint(-low / call.scale), 0.0f, 255.0f);
    return call;
  }

  void multiply(const KernelArguments& arguments, const simd::QuantizeCall& encoding, uint8_t* integers) const {
    float scale = encoding.scale;
    auto zero = static_cast<int32_t>(encoding.zero);
    const memory::desc one_integer({1}, memory::data_type::s32, memory::format_tag::a);
    const auto at = [](const memory::desc& md, void* data) { return memory(md, dnnl_engine(), data); };
    std::unordered_map<int, memory> operands{
        {DNNL_ARG_SRC, at(source_, integers)},
        {DNNL_ARG_WEIGHTS, at(inputs[1].desc(), arguments.inputs[1])},
        {DNNL_ARG_DST, at(result_, arguments.outputs[0])},
        {DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC, at(f32_vector(1), &scale)},
        {DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, at(one_integer, &zero)},
        {DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, at(f32_vector(outputs[0].shape()[-1]), arguments.inputs[2])}};
    if (has_bias_) operands.emplace(DNNL_ARG_BIAS, at(bias_, arguments.inputs[3]));
    if (scratchpad_.get_size() > 0) operands.emplace(DNNL_ARG_SCRATCHPAD, at(scratchpad_, integers + integer_bytes()));
    primitive_.execute(dnnl_stream(), operands);
    dnnl_stream().wait();
  }

  int64_t rows_ = 0;
  bool has_bias_ = false;
  memory::desc source_, result_, bias_, scratchpad_;
  dnnl::matmul primitive_;
};

std::unique_ptr<Kernel> make_dynamic_linear(const KernelRequest& request, std::string& declined) {
  if (has_empty_operand(request.node)) {
    declined = "an operand has no elements";
    return nullptr;
  }
  const bool fixed = request.input_is_fixed.size() > 1 && request.input_is_fixed[1];
  return std::make_unique<DynamicLinearKernel>(request.node, fixed);
}

/// Only where the CPU has instructions for it: oneDNN's other code cuts sums of two products to 16 bits.
struct RegisterExact {
  RegisterExact() {
    if (!cpu_has_int8_products()) return;
    RegisterKernel(op::kDynamicLinear, "onednn", KernelPriority::kOneDnn, make_dynamic_linear);
  }
};
const RegisterExact kExact;

}  // namespace
}  // namespace thalweg

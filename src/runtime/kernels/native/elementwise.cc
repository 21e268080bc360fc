// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/elementwise.h"

#include <map>

#include "runtime/kernel.h"
#include "runtime/kernels/native/broadcast_runs.h"

namespace thalweg {
namespace {

using simd::BinaryFunction;
using simd::Function;

struct FunctionInfo {
  Function function;
  bool keeps_zero;  ///< f(0) = 0, so that it may run over the padding of a layout
};

const std::map<std::string, FunctionInfo>& functions() {
  static const std::map<std::string, FunctionInfo> table = {
      {"relu", {Function::kRelu, true}},
      {"leaky_relu", {Function::kLeakyRelu, true}},
      {"elu", {Function::kElu, true}},
      {"selu", {Function::kSelu, true}},
      {"celu", {Function::kCelu, true}},
      {"gelu", {Function::kGelu, true}},
      {"gelu_tanh", {Function::kGeluTanh, true}},
      {"silu", {Function::kSilu, true}},
      {"mish", {Function::kMish, true}},
      {"sigmoid", {Function::kSigmoid, false}},
      {"log_sigmoid", {Function::kLogSigmoid, false}},
      {"hard_sigmoid", {Function::kHardSigmoid, false}},
      {"hard_swish", {Function::kHardSwish, true}},
      {"tanh", {Function::kTanh, true}},
      {"softplus", {Function::kSoftplus, false}},
      {"softsign", {Function::kSoftsign, true}},
      {"hard_shrink", {Function::kHardShrink, true}},
      {"soft_shrink", {Function::kSoftShrink, true}},
      {"tanh_shrink", {Function::kTanhShrink, true}},
      {"threshold", {Function::kThreshold, false}},
      {"clip", {Function::kClip, false}},
      {"exp", {Function::kExp, false}},
      {"log", {Function::kLog, false}},
      {"sqrt", {Function::kSqrt, true}},
      {"rsqrt", {Function::kRsqrt, false}},
      {"square", {Function::kSquare, true}},
      {"reciprocal", {Function::kReciprocal, false}},
      {"abs", {Function::kAbs, true}},
      {"erf", {Function::kErf, true}},
      {"sin", {Function::kSin, true}},
      {"cos", {Function::kCos, false}},
      {"neg", {Function::kNeg, true}},
      {"sign", {Function::kSign, true}},
      {"floor", {Function::kFloor, true}},
      {"ceil", {Function::kCeil, true}},
      {"round", {Function::kRound, true}},
  };
  return table;
}

const std::map<std::string, BinaryFunction>& binary_functions() {
  static const std::map<std::string, BinaryFunction> table = {
      {"add", BinaryFunction::kAdd}, {"sub", BinaryFunction::kSub},         {"mul", BinaryFunction::kMul},
      {"div", BinaryFunction::kDiv}, {"minimum", BinaryFunction::kMinimum}, {"maximum", BinaryFunction::kMaximum},
      {"pow", BinaryFunction::kPow},
  };
  return table;
}

bool fits(const KernelRequest& request, std::string& declined) {
  const DType dtype = request.node.input(0)->dtype();
  if (dtype != DType::kF32 && dtype != DType::kBF16) declined = "element type is neither f32 nor bf16";
  if (has_empty_operand(request.node)) declined = "empty operand";
  return declined.empty();
}

/// Of two operands of the same shape the layout that is not plain: some kernel chose it for a reason.
const Layout& preferred(const Layout& a, const Layout& b) { return a.is_plain() ? b : a; }

int64_t elements(const Layout& layout) { return static_cast<int64_t>(layout.bytes() / size_of(layout.dtype())); }

char* at(void* base, int64_t element, size_t size) {
  return static_cast<char*>(base) + element * static_cast<int64_t>(size);
}

/// Runs `body(first, count)` over parts of `count` elements.
template <typename Body>
void each_part(int64_t count, int threads, Body body) {
  const int used = count < kParallelElements ? 1 : threads;
#pragma omp parallel for num_threads(used) schedule(static)
  for (int t = 0; t < used; ++t) {
    const Share share(count, t, used);
    body(share.begin, share.end - share.begin);
  }
}

/// All operands share one layout and are walked over as they lie.
std::unique_ptr<FunctionKernel> flat_kernel(const KernelRequest& request, const Layout& layout,
                                            std::function<void(const KernelArguments&)> body) {
  auto kernel = std::make_unique<FunctionKernel>(std::move(body));
  kernel->name = "native";
  kernel->inputs.assign(request.node.inputs().size(), layout);
  kernel->outputs = {layout};
  for (int i = 0; i < static_cast<int>(kernel->inputs.size()); ++i) kernel->in_place.emplace_back(i, 0);
  return kernel;
}

std::unique_ptr<Kernel> make_unary(const KernelRequest& request, std::string& declined) {
  if (!fits(request, declined)) return nullptr;
  const Node& node = request.node;
  const bool gradient = node.inputs().size() == 2;
  const auto found = functions().find(gradient ? node.attrs().text("function") : node.op_name());
  if (found == functions().end()) return nullptr;
  const FunctionInfo& info = found->second;
  Layout layout = gradient ? preferred(request.inputs[0], request.inputs[1]) : request.inputs[0];
  // A derivative at zero times zero stays zero for relu; others may have none there.
  const bool over_padding = gradient ? info.function == Function::kRelu : info.keeps_zero;
  if (layout.padded() && !over_padding) layout = Layout(layout.type());

  simd::UnaryCall call;
  call.function = info.function;
  call.alpha = static_cast<float>(node.attrs().real("alpha"));
  call.beta = static_cast<float>(node.attrs().real("beta", 1.0));
  call.bf16 = layout.dtype() == DType::kBF16;
  const int64_t count = elements(layout);
  return flat_kernel(request, layout, [=](const KernelArguments& arguments) {
    const size_t size = call.bf16 ? 2 : 4;
    each_part(count, arguments.threads, [&](int64_t first, int64_t part) {
      simd::UnaryCall piece = call;
      piece.count = part;
      piece.x = at(arguments.inputs[gradient ? 1 : 0], first, size);
      piece.y = at(arguments.outputs[0], first, size);
      if (!gradient) return simd::unary(piece);
      piece.dy = at(arguments.inputs[0], first, size);
      simd::unary_gradient(piece);
    });
  });
}

/// Operands of the result's shape in one layout; an operand of one element goes with any.
std::unique_ptr<Kernel> make_flat_binary(const KernelRequest& request, const simd::BinaryCall& call) {
  const Layout& big = call.a_is_one ? request.inputs[1] : request.inputs[0];
  Layout layout = call.a_is_one || call.b_is_one ? big : preferred(request.inputs[0], request.inputs[1]);
  const bool scalar = call.a_is_one || call.b_is_one;
  const bool may_leave_zero = scalar ? call.function != BinaryFunction::kMul
                                     : call.function == BinaryFunction::kDiv || call.function == BinaryFunction::kPow;
  if (layout.padded() && may_leave_zero) layout = Layout(layout.type());
  const int64_t count = elements(layout);
  auto kernel = flat_kernel(request, layout, [=](const KernelArguments& arguments) {
    const size_t size = call.bf16 ? 2 : 4;
    each_part(count, arguments.threads, [&](int64_t first, int64_t part) {
      simd::BinaryCall piece = call;
      piece.count = part;
      piece.a = at(arguments.inputs[0], call.a_is_one ? 0 : first, size);
      piece.b = at(arguments.inputs[1], call.b_is_one ? 0 : first, size);
      piece.y = at(arguments.outputs[0], first, size);
      simd::binary(piece);
    });
  });
  if (call.a_is_one) kernel->inputs[0] = Layout(request.node.input(0)->type());
  if (call.b_is_one) kernel->inputs[1] = Layout(request.node.input(1)->type());
  // A part that is done must not overwrite the one element that the others still read.
  if (scalar) kernel->in_place = {{call.a_is_one ? 1 : 0, 0}};
  return kernel;
}

std::unique_ptr<Kernel> make_broadcast_binary(const KernelRequest& request, simd::BinaryCall call) {
  const Node& node = request.node;
  const BroadcastRuns<2> runs(node.output()->shape(), {node.input(0)->shape(), node.input(1)->shape()});
  call.a_is_one = runs.stays(0);
  call.b_is_one = runs.stays(1);
  auto kernel = std::make_unique<FunctionKernel>([=](const KernelArguments& arguments) {
    const size_t size = call.bf16 ? 2 : 4;
    runs.each(arguments.threads, [&](const auto& run) {
      simd::BinaryCall piece = call;
      piece.count = run.count;
      piece.a = at(arguments.inputs[0], run.operands[0], size);
      piece.b = at(arguments.inputs[1], run.operands[1], size);
      piece.y = at(arguments.outputs[0], run.result, size);
      simd::binary(piece);
    });
  });
  kernel->name = "native broadcast";
  kernel->inputs = plain_inputs(node);
  kernel->outputs = plain_outputs(node);
  for (int i = 0; i < 2; ++i) {
    if (node.input(static_cast<size_t>(i))->shape() == node.output()->shape()) kernel->in_place.emplace_back(i, 0);
  }
  return kernel;
}

std::unique_ptr<Kernel> make_binary(const KernelRequest& request, std::string& declined) {
  if (!fits(request, declined)) return nullptr;
  const Node& node = request.node;
  const Shape& a = node.input(0)->shape();
  const Shape& b = node.input(1)->shape();
  const Shape& y = node.output()->shape();
  simd::BinaryCall call;
  call.function = binary_functions().at(node.op_name());
  call.bf16 = node.output()->dtype() == DType::kBF16;
  if (a == y && b == y) return make_flat_binary(request, call);
  call.a_is_one = a.num_elements() == 1 && b == y;
  call.b_is_one = b.num_elements() == 1 && a == y;
  if (call.a_is_one != call.b_is_one) return make_flat_binary(request, call);
  return make_broadcast_binary(request, call);
}

struct RegisterAll {
  RegisterAll() {
    for (const auto& entry : functions()) RegisterKernel(entry.first, "native", KernelPriority::kNative, make_unary);
    RegisterKernel("unary_grad", "native", KernelPriority::kNative, make_unary);
    for (const auto& entry : binary_functions()) {
      RegisterKernel(entry.first, "native", KernelPriority::kNative, make_binary);
    }
  }
};
const RegisterAll kAll;

}  // namespace
}  // namespace thalweg

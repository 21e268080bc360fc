// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/elementwise.h"

#include <optional>

#include "graph/op_registry.h"
#include "ops/ids.h"
#include "ops/unary.h"
#include "runtime/kernel.h"
#include "runtime/kernels/native/broadcast_runs.h"
#include "runtime/kernels/native/channel_broadcast.h"
#include "runtime/kernels/native/function_loops.h"

namespace thalweg {
namespace {

using simd::BinaryFunction;
using simd::Function;

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

/// The layout that all operands are walked in, plain where the padding of the producer's would not stay zero.
Layout unary_layout(const KernelRequest& request, const UnaryCallee& callee) {
  const bool gradient = request.inputs.size() == 2;
  const Layout& layout = gradient ? preferred(request.inputs[0], request.inputs[1]) : request.inputs[0];
  // A derivative at zero times zero stays zero for relu; others may have none there.
  const bool over_padding =
      gradient ? callee.function->name == op::kRelu : callee.function->value(0.0, callee.a, callee.b) == 0.0;
  return layout.padded() && !over_padding ? Layout(layout.type()) : layout;
}

/// A function that has no loop of its own: one number at a time, as its row says.
std::unique_ptr<Kernel> make_plain_unary(const KernelRequest& request, const UnaryCallee& callee) {
  const Layout layout = unary_layout(request, callee);
  const bool gradient = request.inputs.size() == 2;
  const int64_t count = elements(layout);
  const UnaryScalar function = gradient ? callee.function->derivative : callee.function->value;
  return flat_kernel(request, layout, [=](const KernelArguments& arguments) {
    const auto* x = static_cast<const float*>(arguments.inputs[gradient ? 1 : 0]);
    const auto* dy = static_cast<const float*>(arguments.inputs[0]);
    auto* y = static_cast<float*>(arguments.outputs[0]);
    each_part(count, arguments.threads, [&](int64_t first, int64_t part) {
      for (int64_t i = first; i < first + part; ++i) {
        const double value = function(static_cast<double>(x[i]), callee.a, callee.b);
        y[i] = static_cast<float>(gradient ? static_cast<double>(dy[i]) * value : value);
      }
    });
  });
}

std::unique_ptr<Kernel> make_unary(const KernelRequest& request, std::string& declined) {
  if (!fits(request, declined)) return nullptr;
  const UnaryCallee callee = callee_of(request.node);
  const Function* function = unary_loop(callee.function->name);
  const Layout layout = unary_layout(request, callee);
  if (function == nullptr) {
    if (layout.dtype() == DType::kF32) return make_plain_unary(request, callee);
    declined = "the function has no loop for bf16";
    return nullptr;
  }
  const bool gradient = request.inputs.size() == 2;
  simd::UnaryCall call;
  call.function = *function;
  call.alpha = static_cast<float>(callee.a);
  call.beta = static_cast<float>(callee.b);
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

/// Whether f(0, 0) is another number, so that the padding of a layout would not stay zero.
bool leaves_zero(BinaryFunction function) {
  return function == BinaryFunction::kDiv || function == BinaryFunction::kPow || function == BinaryFunction::kModulo ||
         function == BinaryFunction::kModuloTruncated;
}

/// Operands of the result's shape in one layout; an operand of one element goes with any.
std::unique_ptr<Kernel> make_flat_binary(const KernelRequest& request, const simd::BinaryCall& call) {
  const Layout& big = call.a_is_one ? request.inputs[1] : request.inputs[0];
  Layout layout = call.a_is_one || call.b_is_one ? big : preferred(request.inputs[0], request.inputs[1]);
  const bool scalar = call.a_is_one || call.b_is_one;
  const bool scales =
      call.function == BinaryFunction::kMul || (call.function == BinaryFunction::kPrelu && call.b_is_one);
  const bool may_leave_zero = scalar ? !scales : leaves_zero(call.function);
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

/// An activation that stays in its layout, with an operand for each channel or position; null if they are no such two.
std::unique_ptr<Kernel> make_channel_binary(const KernelRequest& request, const simd::BinaryCall& call) {
  const Node& node = request.node;
  const size_t big = node.input(0)->shape() == node.output()->shape() ? 0 : 1, small = 1 - big;
  if (node.input(big)->shape() != node.output()->shape()) return nullptr;
  const Layout& layout = request.inputs[big];
  const std::optional<ChannelBroadcast> broadcast = ChannelBroadcast::of(layout, request.inputs[small]);
  if (!broadcast || (layout.padded() && leaves_zero(call.function))) return nullptr;
  auto kernel = std::make_unique<FunctionKernel>([=, pieces = *broadcast](const KernelArguments& arguments) {
    const size_t size = call.bf16 ? 2 : 4;
    pieces.each(arguments.threads, arguments.inputs[small], [&](int64_t first, int64_t count, const void* repeated) {
      simd::BinaryCall piece = call;
      piece.count = count;
      const void* whole = at(arguments.inputs[big], first, size);
      piece.a = big == 0 ? whole : repeated;
      piece.b = big == 0 ? repeated : whole;
      piece.y = at(arguments.outputs[0], first, size);
      simd::binary(piece);
    });
  });
  kernel->name = "native channels";
  kernel->inputs.resize(2);
  kernel->inputs[big] = layout;
  kernel->inputs[small] = broadcast->small_layout();
  kernel->outputs = {layout};
  kernel->in_place = {{static_cast<int>(big), 0}};
  return kernel;
}

std::unique_ptr<Kernel> make_binary(const KernelRequest& request, std::string& declined) {
  if (!fits(request, declined)) return nullptr;
  const Node& node = request.node;
  const Shape& a = node.input(0)->shape();
  const Shape& b = node.input(1)->shape();
  const Shape& y = node.output()->shape();
  simd::BinaryCall call;
  call.function = *binary_loop(node.op_name());
  if (call.function == BinaryFunction::kModulo && node.attrs().flag("truncated"))
    call.function = BinaryFunction::kModuloTruncated;
  call.bf16 = node.output()->dtype() == DType::kBF16;
  if (a == y && b == y) return make_flat_binary(request, call);
  call.a_is_one = a.num_elements() == 1 && b == y;
  call.b_is_one = b.num_elements() == 1 && a == y;
  if (call.a_is_one != call.b_is_one) return make_flat_binary(request, call);
  if (std::unique_ptr<Kernel> kernel = make_channel_binary(request, call)) return kernel;
  return make_broadcast_binary(request, call);
}

struct RegisterAll {
  RegisterAll() {
    for (const auto& row : unary_functions()) RegisterKernel(row.name, "native", KernelPriority::kNative, make_unary);
    RegisterKernel(op::kUnaryGrad, "native", KernelPriority::kNative, make_unary);
    for (const OpId op :
         {op::kAdd, op::kSub, op::kMul, op::kDiv, op::kPow, op::kMinimum, op::kMaximum, op::kPrelu, op::kModulo}) {
      RegisterKernel(op, "native", KernelPriority::kNative, make_binary);
    }
  }
};
const RegisterAll kAll;

}  // namespace
}  // namespace thalweg

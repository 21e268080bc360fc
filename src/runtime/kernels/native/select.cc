// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Comparisons, choice, conversion and expansion: flat loops on several threads, of any element type.
#include <cstring>

#include "ops/ids.h"
#include "runtime/kernel.h"
#include "runtime/kernels/native/broadcast_runs.h"
#include "tensor/dtype.h"
#include "thalweg/stored_types.h"

namespace thalweg {
namespace {

template <typename Body>
std::unique_ptr<Kernel> plain_kernel(const Node& node, Body body) {
  auto kernel = std::make_unique<FunctionKernel>(std::move(body));
  kernel->name = "native";
  kernel->inputs = plain_inputs(node);
  kernel->outputs = plain_outputs(node);
  return kernel;
}

template <typename T, typename F>
std::unique_ptr<Kernel> comparison(const Node& node, F holds) {
  const BroadcastRuns<2> runs(node.output()->shape(), {node.input(0)->shape(), node.input(1)->shape()});
  return plain_kernel(node, [runs, holds](const KernelArguments& arguments) {
    const auto* a = static_cast<const T*>(arguments.inputs[0]);
    const auto* b = static_cast<const T*>(arguments.inputs[1]);
    auto* y = static_cast<bool*>(arguments.outputs[0]);
    const int64_t a_step = runs.stays(0) ? 0 : 1, b_step = runs.stays(1) ? 0 : 1;
    runs.each(arguments.threads, [&](const auto& run) {
      for (int64_t i = 0; i < run.count; ++i) {
        y[run.result + i] = holds(a[run.operands[0] + i * a_step], b[run.operands[1] + i * b_step]);
      }
    });
  });
}

template <typename F>
KernelFactory comparison_factory(F holds) {
  return [holds](const KernelRequest& request, std::string& declined) -> std::unique_ptr<Kernel> {
    switch (request.node.input(0)->dtype()) {
      case DType::kF32: return comparison<float>(request.node, holds);
      case DType::kI64: return comparison<int64_t>(request.node, holds);
      case DType::kI32: return comparison<int32_t>(request.node, holds);
      default: declined = "element type is none of f32, i64, i32"; return nullptr;
    }
  };
}

template <typename T>
std::unique_ptr<Kernel> choice(const Node& node) {
  const BroadcastRuns<3> runs(node.output()->shape(),
                              {node.input(0)->shape(), node.input(1)->shape(), node.input(2)->shape()});
  return plain_kernel(node, [runs](const KernelArguments& arguments) {
    const auto* condition = static_cast<const bool*>(arguments.inputs[0]);
    const auto* a = static_cast<const T*>(arguments.inputs[1]);
    const auto* b = static_cast<const T*>(arguments.inputs[2]);
    auto* y = static_cast<T*>(arguments.outputs[0]);
    const int64_t c_step = runs.stays(0) ? 0 : 1, a_step = runs.stays(1) ? 0 : 1, b_step = runs.stays(2) ? 0 : 1;
    runs.each(arguments.threads, [&](const auto& run) {
      for (int64_t i = 0; i < run.count; ++i) {
        const T left = a[run.operands[1] + i * a_step];
        const T right = b[run.operands[2] + i * b_step];
        y[run.result + i] = condition[run.operands[0] + i * c_step] ? left : right;
      }
    });
  });
}

/// Input 0 stretched to the shape of input 1, whose memory is not read and may lie as it likes.
template <typename T>
std::unique_ptr<Kernel> expansion(const KernelRequest& request) {
  const Node& node = request.node;
  const BroadcastRuns<1> runs(node.output()->shape(), {node.input(0)->shape()});
  auto kernel = plain_kernel(node, [runs](const KernelArguments& arguments) {
    const auto* x = static_cast<const T*>(arguments.inputs[0]);
    auto* y = static_cast<T*>(arguments.outputs[0]);
    runs.each(arguments.threads, [&](const auto& run) {
      if (runs.stays(0)) {
        std::fill_n(y + run.result, run.count, x[run.operands[0]]);
      } else {
        std::memcpy(y + run.result, x + run.operands[0], static_cast<size_t>(run.count) * sizeof(T));
      }
    });
  });
  for (size_t i = 1; i < request.inputs.size(); ++i) kernel->inputs[i] = request.inputs[i];
  // One element for all: whatever arrangement the reader of the result prefers is as good as any.
  const bool one = node.input(0)->shape().num_elements() == 1;
  if (one && request.inputs.size() > 1 && request.inputs[1].dtype() == node.output()->dtype() &&
      !request.inputs[1].padded()) {
    kernel->outputs[0] = request.inputs[1];
  }
  return kernel;
}

/// A type of the same size: only the bits are moved.
template <typename Body>
std::unique_ptr<Kernel> by_size(DType dtype, Body body) {
  switch (size_of(dtype)) {
    case 1: return body(uint8_t{});
    case 2: return body(uint16_t{});
    case 4: return body(uint32_t{});
    default: return body(uint64_t{});
  }
}

std::unique_ptr<Kernel> make_where(const KernelRequest& request, std::string&) {
  return by_size(request.node.output()->dtype(), [&](auto tag) { return choice<decltype(tag)>(request.node); });
}

std::unique_ptr<Kernel> make_expand_like(const KernelRequest& request, std::string&) {
  return by_size(request.node.output()->dtype(), [&](auto tag) { return expansion<decltype(tag)>(request); });
}

std::unique_ptr<Kernel> make_cast(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  for (const DType dtype : {node.input(0)->dtype(), node.output()->dtype()}) {
    if (stored::is_narrow(dtype)) declined = std::string("element type ") + name_of(dtype);
  }
  if (!declined.empty()) return nullptr;
  const int64_t count = node.output()->shape().num_elements();
  return dispatch(node.input(0)->dtype(), [&](auto from) {
    return dispatch(node.output()->dtype(), [&](auto to) {
      return plain_kernel(node, [count](const KernelArguments& arguments) {
        const auto* x = static_cast<const decltype(from)*>(arguments.inputs[0]);
        auto* y = static_cast<decltype(to)*>(arguments.outputs[0]);
        const int used = count < kParallelElements ? 1 : arguments.threads;
#pragma omp parallel for num_threads(used) schedule(static)
        for (int64_t i = 0; i < count; ++i) y[i] = convert_element<decltype(to)>(x[i]);
      });
    });
  });
}

const RegisterKernel kEqual(op::kEqual, "native", KernelPriority::kNative,
                            comparison_factory([](auto a, auto b) { return a == b; }));
const RegisterKernel kLess(op::kLess, "native", KernelPriority::kNative,
                           comparison_factory([](auto a, auto b) { return a < b; }));
const RegisterKernel kLessEqual(op::kLessEqual, "native", KernelPriority::kNative,
                                comparison_factory([](auto a, auto b) { return a <= b; }));
const RegisterKernel kGreater(op::kGreater, "native", KernelPriority::kNative,
                              comparison_factory([](auto a, auto b) { return a > b; }));
const RegisterKernel kGreaterEqual(op::kGreaterEqual, "native", KernelPriority::kNative,
                                   comparison_factory([](auto a, auto b) { return a >= b; }));
const RegisterKernel kWhere(op::kWhere, "native", KernelPriority::kNative, make_where);
const RegisterKernel kExpandLike(op::kExpandLike, "native", KernelPriority::kNative, make_expand_like);
const RegisterKernel kCast(op::kCast, "native", KernelPriority::kNative, make_cast);

}  // namespace
}  // namespace thalweg

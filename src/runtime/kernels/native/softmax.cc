// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/softmax.h"

#include <algorithm>
#include <cmath>

#include "ops/ids.h"
#include "runtime/kernel.h"
#include "runtime/kernels/axis_view.h"
#include "runtime/kernels/native/channel_cut.h"

namespace thalweg {
namespace {

/// Lines that are handled at once; their constants lie on the stack.
constexpr int64_t kMaxLines = 64;

/// A group of adjacent lines.
struct Group {
  simd::Lines lines;
  int64_t element;  ///< where the first one begins
  int64_t line;     ///< its number

  const void* of(const void* base) const { return static_cast<const char*>(base) + element * (lines.bf16 ? 2 : 4); }
  void* of(void* base) const { return static_cast<char*>(base) + element * (lines.bf16 ? 2 : 4); }
};

/// Runs `body(group)` over all lines.
template <typename Body>
void each_group(const AxisView& view, bool bf16, int threads, Body body) {
  const int64_t per_outer = (view.inner + kMaxLines - 1) / kMaxLines;
  const int used = view.lines() * view.size < kParallelElements / 4 ? 1 : threads;
#pragma omp parallel for num_threads(used) schedule(static)
  for (int64_t i = 0; i < view.outer * per_outer; ++i) {
    const int64_t first = i % per_outer * kMaxLines;
    const int64_t count = std::min(kMaxLines, view.inner - first);
    const int64_t outer = i / per_outer;
    body(Group{
        {view.size, view.inner, count, bf16}, outer * view.size * view.inner + first, outer * view.inner + first});
  }
}

struct LineSums {
  float largest[kMaxLines];
  float sum[kMaxLines];
  float total[kMaxLines];
};

void run_softmax(const AxisView& view, bool bf16, bool logarithm, const KernelArguments& arguments) {
  each_group(view, bf16, arguments.threads, [&](const Group& group) {
    LineSums sums;
    float offset[kMaxLines] = {};
    const void* x = group.of(arguments.inputs[0]);
    void* y = group.of(arguments.outputs[0]);
    simd::softmax_sums(group.lines, x, sums.largest, sums.sum, nullptr);
    for (int64_t j = 0; j < group.lines.count; ++j) {
      if (logarithm) sums.largest[j] += std::log(sums.sum[j]);
      sums.sum[j] = 1 / sums.sum[j];
    }
    if (logarithm) {
      simd::softmax_shift(group.lines, x, sums.largest, y);
    } else {
      simd::softmax_apply(group.lines, x, sums.largest, sums.sum, offset, y);
    }
  });
}

float element(const Group& group, const void* base, int64_t k, int64_t j) {
  const int64_t at = k * group.lines.stride + j;
  return group.lines.bf16 ? static_cast<float>(static_cast<const BF16*>(group.of(base))[at])
                          : static_cast<const float*>(group.of(base))[at];
}

void set_element(const Group& group, void* base, int64_t k, int64_t j, float value) {
  const int64_t at = k * group.lines.stride + j;
  if (group.lines.bf16) {
    static_cast<BF16*>(group.of(base))[at] = BF16(value);
  } else {
    static_cast<float*>(group.of(base))[at] = value;
  }
}

class CrossEntropy : public Kernel {
 public:
  CrossEntropy(const KernelRequest& request, size_t logits, bool gradient)
      : node_(request.node),
        view_(request.node.input(logits)->shape(), 1),
        gradient_(gradient),
        bf16_(request.node.input(logits)->dtype() == DType::kBF16),
        label_type_(request.node.input(logits + 1)->dtype()),
        smoothing_(static_cast<float>(request.node.attrs().real("label_smoothing"))) {
    name = "native";
    inputs = plain_inputs(request.node);
    outputs = plain_outputs(request.node);
    if (gradient) in_place = {{1, 0}};
  }

  void run(const KernelArguments& arguments) const override {
    // Labels are checked first: nothing may be thrown where several threads run.
    const size_t first = gradient_ ? 1 : 0;
    const Labels labels(node_, label_type_, arguments.inputs[first + 1], view_.lines(), view_.size);
    each_group(view_, bf16_, arguments.threads, [&](const Group& group) {
      LineSums sums;
      simd::softmax_sums(group.lines, group.of(arguments.inputs[first]), sums.largest, sums.sum, sums.total);
      gradient_ ? backward(arguments, labels, group, sums) : forward(arguments, labels, group, sums);
    });
  }

 private:
  void forward(const KernelArguments& arguments, const Labels& labels, const Group& group, const LineSums& sums) const {
    auto* losses = static_cast<float*>(arguments.outputs[0]) + group.line;
    for (int64_t j = 0; j < group.lines.count; ++j) {
      losses[j] = 0;
      if (labels.ignores(group.line + j)) continue;
      const float normaliser = sums.largest[j] + std::log(sums.sum[j]);
      const float at_label = element(group, arguments.inputs[0], labels[group.line + j], j);
      losses[j] = (1 - smoothing_) * (normaliser - at_label);
      if (smoothing_ > 0) losses[j] += smoothing_ * (normaliser - sums.total[j] / static_cast<float>(view_.size));
    }
  }

  void backward(const KernelArguments& arguments, const Labels& labels, const Group& group, LineSums& sums) const {
    const auto* dloss = static_cast<const float*>(arguments.inputs[0]) + group.line;
    float factor[kMaxLines], offset[kMaxLines], at_label[kMaxLines];
    for (int64_t j = 0; j < group.lines.count; ++j) {
      const bool ignored = labels.ignores(group.line + j);
      factor[j] = ignored ? 0 : dloss[j] / sums.sum[j];
      offset[j] = ignored ? 0 : -dloss[j] * smoothing_ / static_cast<float>(view_.size);
      if (ignored) continue;
      const float x = element(group, arguments.inputs[1], labels[group.line + j], j);
      at_label[j] = std::exp(x - sums.largest[j]) * factor[j] + offset[j] - (1 - smoothing_) * dloss[j];
    }
    simd::softmax_apply(group.lines, group.of(arguments.inputs[1]), sums.largest, factor, offset,
                        group.of(arguments.outputs[0]));
    for (int64_t j = 0; j < group.lines.count; ++j) {
      if (labels.ignores(group.line + j)) continue;
      set_element(group, arguments.outputs[0], labels[group.line + j], j, at_label[j]);
    }
  }

  const Node& node_;  // lives in the program's graph, which outlives its kernels
  AxisView view_;
  bool gradient_;
  bool bf16_;
  DType label_type_;
  float smoothing_;
};

bool fits(const KernelRequest& request, size_t index, std::string& declined) {
  const DType dtype = request.node.input(index)->dtype();
  if (dtype != DType::kF32 && dtype != DType::kBF16) declined = "element type is neither f32 nor bf16";
  if (has_empty_operand(request.node)) declined = "empty operand";
  return declined.empty();
}

std::unique_ptr<Kernel> make_softmax(const KernelRequest& request, std::string& declined) {
  if (!fits(request, 0, declined)) return nullptr;
  const AxisView view(request.node.input(0)->shape(), request.node.attrs().integer("axis"));
  const bool bf16 = request.node.input(0)->dtype() == DType::kBF16;
  const std::string& op = request.node.op_name();
  const bool logarithm = op == op::kLogSoftmax || op == op::kLogSoftmaxGrad;
  const bool gradient = request.node.inputs().size() > 1;
  auto kernel = std::make_unique<FunctionKernel>([=](const KernelArguments& arguments) {
    if (!gradient) return run_softmax(view, bf16, logarithm, arguments);
    each_group(view, bf16, arguments.threads, [&](const Group& group) {
      simd::softmax_grad(group.lines, group.of(arguments.inputs[0]), group.of(arguments.inputs[1]),
                         group.of(arguments.outputs[0]), logarithm);
    });
  });
  kernel->name = "native";
  kernel->inputs = plain_inputs(request.node);
  kernel->outputs = plain_outputs(request.node);
  kernel->in_place = {{0, 0}};
  return kernel;
}

std::unique_ptr<Kernel> make_cross_entropy(const KernelRequest& request, std::string& declined) {
  if (!fits(request, 0, declined)) return nullptr;
  return std::make_unique<CrossEntropy>(request, 0, false);
}

std::unique_ptr<Kernel> make_cross_entropy_grad(const KernelRequest& request, std::string& declined) {
  if (!fits(request, 1, declined)) return nullptr;
  return std::make_unique<CrossEntropy>(request, 1, true);
}

const RegisterKernel kSoftmax(op::kSoftmax, "native", KernelPriority::kNative, make_softmax);
const RegisterKernel kLogSoftmax(op::kLogSoftmax, "native", KernelPriority::kNative, make_softmax);
const RegisterKernel kSoftmaxGrad(op::kSoftmaxGrad, "native", KernelPriority::kNative, make_softmax);
const RegisterKernel kLogSoftmaxGrad(op::kLogSoftmaxGrad, "native", KernelPriority::kNative, make_softmax);
const RegisterKernel kCrossEntropy(op::kSoftmaxCrossEntropy, "native", KernelPriority::kNative, make_cross_entropy);
const RegisterKernel kCrossEntropyGrad(op::kSoftmaxCrossEntropyGrad, "native", KernelPriority::kNative,
                                       make_cross_entropy_grad);

}  // namespace
}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/layer_norm.h"

#include "ops/ids.h"
#include "runtime/kernel.h"
#include "runtime/kernels/native/channel_cut.h"

namespace thalweg {
namespace {

struct RowShape {
  int64_t rows = 0, columns = 0;
  bool bf16 = false;

  RowShape(const Value& x, int64_t axis) : bf16(x.dtype() == DType::kBF16) {
    const int first = static_cast<int>(axis < 0 ? axis + x.shape().rank() : axis);
    rows = x.shape().num_elements(0, first);
    columns = x.shape().num_elements(first, x.shape().rank());
  }
  int64_t bytes_before(int64_t row) const { return row * columns * (bf16 ? 2 : 4); }
};

template <typename To>
To* optional(const KernelArguments& arguments, size_t index) {
  return index < arguments.inputs.size() ? static_cast<To*>(arguments.inputs[index]) : nullptr;
}

class Forward : public Kernel {
 public:
  Forward(const Node& node, int)
      : shape_(*node.input(0), node.attrs().integer("axis")),
        epsilon_(static_cast<float>(node.attrs().real("epsilon"))) {
    in_place = {{0, 0}};
  }

  void run(const KernelArguments& arguments) const override {
    const int used = shape_.rows * shape_.columns < kParallelElements ? 1 : arguments.threads;
#pragma omp parallel for num_threads(used) schedule(static)
    for (int t = 0; t < used; ++t) {
      const Share share(shape_.rows, t, used);
      const int64_t bytes = shape_.bytes_before(share.begin);
      simd::LayerNormForward call{share.end - share.begin, shape_.columns, shape_.bf16, epsilon_};
      call.x = static_cast<const char*>(arguments.inputs[0]) + bytes;
      call.scale = optional<const float>(arguments, 1);
      call.shift = optional<const float>(arguments, 2);
      call.y = static_cast<char*>(arguments.outputs[0]) + bytes;
      call.mean = static_cast<float*>(arguments.outputs[1]) + share.begin;
      call.variance = static_cast<float*>(arguments.outputs[2]) + share.begin;
      simd::layer_norm(call);
    }
  }

 private:
  RowShape shape_;
  float epsilon_;
};

class Backward : public Kernel {
 public:
  Backward(const Node& node, int threads)
      : shape_(*node.input(1), node.attrs().integer("axis")),
        epsilon_(static_cast<float>(node.attrs().real("epsilon"))),
        segments_(std::clamp<int64_t>(shape_.rows / 32, 1, std::max(16, 4 * threads))) {
    scratch_bytes = static_cast<size_t>(2 * segments_ * shape_.columns) * sizeof(float);
    in_place = {{0, 0}, {1, 0}};
  }

  void run(const KernelArguments& arguments) const override {
    const int used = shape_.rows * shape_.columns < kParallelElements ? 1 : arguments.threads;
    auto* sums = static_cast<float*>(arguments.scratch);
#pragma omp parallel num_threads(used)
    {
#pragma omp for schedule(static)
      for (int64_t s = 0; s < segments_; ++s) run_segment(arguments, s, sums + 2 * s * shape_.columns);
#pragma omp for schedule(static)
      for (int64_t c = 0; c < shape_.columns; ++c) {
        put_total(arguments.outputs[1], sums, c);
        put_total(arguments.outputs[2], sums + shape_.columns, c);
      }
    }
  }

 private:
  void run_segment(const KernelArguments& arguments, int64_t segment, float* sums) const {
    std::fill_n(sums, 2 * shape_.columns, 0.0F);
    const Share share(shape_.rows, segment, segments_);
    const int64_t bytes = shape_.bytes_before(share.begin);
    simd::LayerNormBackward call{share.end - share.begin, shape_.columns, shape_.bf16, epsilon_};
    call.dy = static_cast<const char*>(arguments.inputs[0]) + bytes;
    call.x = static_cast<const char*>(arguments.inputs[1]) + bytes;
    call.mean = static_cast<const float*>(arguments.inputs[2]) + share.begin;
    call.variance = static_cast<const float*>(arguments.inputs[3]) + share.begin;
    call.scale = optional<const float>(arguments, 4);
    call.dx = static_cast<char*>(arguments.outputs[0]) + bytes;
    call.dscale = sums;
    call.dshift = sums + shape_.columns;
    simd::layer_norm_gradient(call);
  }

  /// Over the segments, in their order.
  void put_total(void* to, const float* sums, int64_t column) const {
    if (to == nullptr) return;
    double total = 0;
    for (int64_t s = 0; s < segments_; ++s) total += static_cast<double>(sums[2 * s * shape_.columns + column]);
    static_cast<float*>(to)[column] = static_cast<float>(total);
  }

  RowShape shape_;
  float epsilon_;
  int64_t segments_;
};

template <typename K, size_t kActivation>
std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& declined) {
  const DType dtype = request.node.input(kActivation)->dtype();
  if (dtype != DType::kF32 && dtype != DType::kBF16) declined = "element type is neither f32 nor bf16";
  if (has_empty_operand(request.node)) declined = "empty operand";
  if (!declined.empty()) return nullptr;
  auto kernel = std::make_unique<K>(request.node, request.threads);
  kernel->name = "native";
  kernel->inputs = plain_inputs(request.node);
  kernel->outputs = plain_outputs(request.node);
  return kernel;
}

const RegisterKernel kForward(op::kLayerNorm, "native", KernelPriority::kNative, make<Forward, 0>);
const RegisterKernel kBackward(op::kLayerNormGrad, "native", KernelPriority::kNative, make<Backward, 1>);

}  // namespace
}  // namespace thalweg

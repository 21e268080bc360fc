// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/lrn.h"

#include <algorithm>

#include "ops/ids.h"
#include "runtime/kernel.h"

namespace thalweg {
namespace {

class LrnKernel : public Kernel {
 public:
  LrnKernel(const Node& node, const Layout& layout, const ChannelBlocking& blocking, int threads)
      : gradient_(node.inputs().size() > 1), pixels_(blocking.outer * blocking.spatial) {
    name = "native lrn";
    inputs.assign(node.inputs().size(), layout);
    outputs = {layout};
    in_place = {{0, 0}};
    const int64_t size = node.attrs().integer("size");
    job_.blocks = blocking.blocks;
    job_.spatial = blocking.spatial;
    job_.block = blocking.block;
    job_.before = (size - 1) / 2;
    job_.after = size / 2;
    job_.alpha = static_cast<float>(node.attrs().real("alpha") / static_cast<double>(size));
    job_.beta = static_cast<float>(node.attrs().real("beta"));
    job_.bias = static_cast<float>(node.attrs().real("bias"));
    job_.bf16 = layout.dtype() == DType::kBF16;
    scratch_bytes = static_cast<size_t>(threads * simd::lrn_scratch(job_)) * sizeof(float);
  }

  void run(const KernelArguments& arguments) const override {
    simd::LrnJob job = job_;
    job.x = arguments.inputs[gradient_ ? 1 : 0];
    job.dy = gradient_ ? arguments.inputs[0] : nullptr;
    job.out = arguments.outputs[0];
    auto* scratch = static_cast<float*>(arguments.scratch);
    const int64_t parts = std::min<int64_t>(pixels_, arguments.threads);
#pragma omp parallel for schedule(static) num_threads(arguments.threads)
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t begin = pixels_ * part / parts;
      const int64_t end = pixels_ * (part + 1) / parts;
      float* own = scratch + part * simd::lrn_scratch(job);
      gradient_ ? simd::lrn_grad_pixels(job, begin, end, own) : simd::lrn_pixels(job, begin, end, own);
    }
  }

 private:
  bool gradient_;
  int64_t pixels_;
  simd::LrnJob job_{};
};

/// Channels side by side: what the kernel asks for where the input is row-major or padded.
Layout channels_last(const TensorType& type) {
  const Shape& shape = type.shape;
  dnnl::memory::dims strides(static_cast<size_t>(shape.rank()), 1);
  int64_t stride = shape[1];
  for (int d = shape.rank() - 1; d >= 2; --d) {
    strides[static_cast<size_t>(d)] = stride;
    stride *= shape[d];
  }
  strides[0] = stride;
  return {type, dnnl::memory::desc(to_dnnl(shape), to_dnnl(type.dtype), strides)};
}

std::unique_ptr<Kernel> make_lrn(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  const DType dtype = node.output()->dtype();
  if (dtype != DType::kF32 && dtype != DType::kBF16) declined = std::string("element type ") + name_of(dtype);
  if (has_empty_operand(node)) declined = "an operand has no elements";
  if (!declined.empty()) return nullptr;
  // The saved input of the gradient decides: the gradient that arrives usually lies as it does.
  Layout layout = request.inputs.back();
  ChannelBlocking blocking;
  if (layout.is_plain() || !channel_blocking(layout, blocking)) {
    layout = channels_last(layout.type());
    blocking = {layout.shape()[0], 1, layout.shape().num_elements(2, layout.shape().rank()), layout.shape()[1]};
  }
  return std::make_unique<LrnKernel>(node, layout, blocking, request.threads);
}

const RegisterKernel kLrn(op::kLrn, "native", KernelPriority::kNative, make_lrn);
const RegisterKernel kLrnGrad(op::kLrnGrad, "native", KernelPriority::kNative, make_lrn);

}  // namespace
}  // namespace thalweg

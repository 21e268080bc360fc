// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/dropout.h"

#include "ops/ids.h"
#include "runtime/kernel.h"
#include "runtime/kernels/native/channel_cut.h"
#include "runtime/kernels/random_mask.h"

namespace thalweg {
namespace {

simd::DropoutCall masked_call(const RandomMask& mask, bool bf16) {
  simd::DropoutCall call;
  call.mask_first = mask.bits.first();
  call.mask_second = mask.bits.second();
  call.threshold = mask.threshold;
  call.scale = mask.scale;
  call.bf16 = bf16;
  return call;
}

void run_part(simd::DropoutCall call, const KernelArguments& arguments, int64_t first_element) {
  const int64_t bytes = first_element * (call.bf16 ? 2 : 4);
  call.x = static_cast<const char*>(arguments.inputs[0]) + bytes;
  call.y = static_cast<char*>(arguments.outputs[0]) + bytes;
  simd::dropout(call);
}

void run_plain(const simd::DropoutCall& call, int64_t count, const KernelArguments& arguments) {
  const int used = count < kParallelElements ? 1 : arguments.threads;
#pragma omp parallel for num_threads(used) schedule(static)
  for (int t = 0; t < used; ++t) {
    const Share share(count, t, used);
    simd::DropoutCall part = call;
    part.rows = 1;
    part.columns = share.end - share.begin;
    part.first = static_cast<uint64_t>(share.begin);
    run_part(part, arguments, share.begin);
  }
}

void run_blocked(const simd::DropoutCall& call, const ChannelBlocking& blocking, const KernelArguments& arguments) {
  const int64_t piece = blocking.spatial * blocking.block;
  const int64_t count = blocking.outer * blocking.blocks;
  const int used = count * piece < kParallelElements ? 1 : arguments.threads;
#pragma omp parallel for num_threads(used) schedule(static)
  for (int64_t i = 0; i < count; ++i) {
    simd::DropoutCall part = call;
    part.rows = blocking.spatial;
    part.columns = blocking.block;
    part.first = static_cast<uint64_t>(i * piece);
    part.row_step = 1;
    part.column_step = static_cast<uint64_t>(blocking.spatial);
    run_part(part, arguments, i * piece);
  }
}

std::unique_ptr<Kernel> make_dropout(const KernelRequest& request, std::string& declined) {
  const TensorType& type = request.node.input(0)->type();
  if (type.dtype != DType::kF32 && type.dtype != DType::kBF16) declined = "element type is neither f32 nor bf16";
  if (has_empty_operand(request.node)) declined = "empty operand";
  if (!declined.empty()) return nullptr;
  Layout layout = request.inputs[0];
  ChannelBlocking blocking;
  if (!layout.is_plain() && !channel_blocking(layout, blocking)) layout = Layout(type);
  const bool plain = layout.is_plain();
  const double probability = request.node.attrs().real("probability");
  const int64_t seed = request.node.attrs().integer("seed");
  const int64_t count = type.shape.num_elements();
  const bool bf16 = type.dtype == DType::kBF16;
  auto kernel = std::make_unique<FunctionKernel>([=](const KernelArguments& arguments) {
    const simd::DropoutCall call = masked_call(RandomMask(probability, seed, arguments.step), bf16);
    plain ? run_plain(call, count, arguments) : run_blocked(call, blocking, arguments);
  });
  kernel->name = "native";
  kernel->inputs = {layout};
  kernel->outputs = {layout};
  kernel->in_place = {{0, 0}};
  return kernel;
}

const RegisterKernel kDropout(op::kDropout, "native", KernelPriority::kNative, make_dropout);
const RegisterKernel kDropoutGrad(op::kDropoutGrad, "native", KernelPriority::kNative, make_dropout);

}  // namespace
}  // namespace thalweg

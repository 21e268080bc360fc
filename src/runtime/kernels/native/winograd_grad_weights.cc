// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The weight gradient of a convolution by Winograd's method.
#include <omp.h>

#include <algorithm>
#include <cstring>

#include "ops/ids.h"
#include "runtime/kernels/native/winograd_plan.h"

namespace thalweg {
namespace {

class WinogradGradWeightsKernel : public Kernel {
 public:
  WinogradGradWeightsKernel(const KernelRequest& request, int m)
      : shape_(winograd_shape(conv_geometry(request.node), WinogradPass::kWeights, m)),
        blocking_(winograd_blocking(shape_, WinogradPass::kWeights, request.threads)),
        weights_(shape_.weights(false)),
        in_tiles_(winograd_tiles(shape_, shape_.in.blocks, 1, blocking_.tiles)),
        out_tiles_(winograd_tiles(shape_, shape_.out.blocks, shape_.panel_vectors, blocking_.tiles)) {
    const Node& node = request.node;
    name = "native winograd " + std::to_string(m) + "x" + std::to_string(m);
    inputs = {winograd_activation_layout(node.input(0)->type(), shape_.lanes),
              winograd_activation_layout(node.input(1)->type(), shape_.lanes)};
    outputs = plain_outputs(node);
    outputs[0] = winograd_weights_layout(node.output()->type(), shape_.lanes);
    with_bias_ = node.outputs().size() > 1;
    channels_ = node.output()->shape()[0];
    buffers_ = blocking_.shared ? 1 : request.threads;
    weights_.part_stride =
        winograd_tiles_floats(shape_, in_tiles_) + winograd_tiles_floats(shape_, out_tiles_) + shape_.weights_floats();
    const int64_t sums = with_bias_ ? request.threads * sums_floats() : 0;
    scratch_bytes = static_cast<size_t>(sums + buffers_ * weights_.part_stride) * sizeof(float);
  }

  void run(const KernelArguments& arguments) const override {
    auto* buffers = static_cast<float*>(arguments.scratch);
    float* sums = buffers + buffers_ * weights_.part_stride;
    const int threads = arguments.threads;
#pragma omp parallel num_threads(threads)
    {
      const WinogradShare share = winograd_share(shape_, blocking_);
      float* own_sums = with_bias_ ? sums + omp_get_thread_num() * sums_floats() : nullptr;
      if (with_bias_) std::memset(own_sums, 0, static_cast<size_t>(sums_floats()) * sizeof(float));
      accumulate(arguments, share, buffers + share.buffer * weights_.part_stride, own_sums);
    }
    finish_weights(arguments, buffers + tiles_floats(), blocking_.shared ? 1 : threads);
    if (with_bias_ && arguments.outputs[1] != nullptr) {
      add_up(sums, threads, static_cast<float*>(arguments.outputs[1]));
    }
  }

 private:
  int64_t sums_floats() const { return shape_.out.blocks * shape_.lanes; }
  int64_t tiles_floats() const { return weights_.part_stride - shape_.weights_floats(); }

  /// Sums over the tiles of one share, into the transformed weights at the end of `buffer`.
  void accumulate(const KernelArguments& arguments, const WinogradShare& share, float* buffer, float* sums) const {
    const WinogradTeam& team = share.team;
    simd::WinogradTiles in = in_tiles_, out = out_tiles_;
    in.data = buffer;
    out.data = buffer + winograd_tiles_floats(shape_, in);
    float* u = buffer + tiles_floats();
    const auto* dy = static_cast<const float*>(arguments.inputs[0]);
    const auto* x = static_cast<const float*>(arguments.inputs[1]);
    if (share.first == share.end) std::memset(u, 0, static_cast<size_t>(shape_.weights_floats()) * sizeof(float));
    for (int64_t first = share.first; first < share.end; first += blocking_.tiles) {
      const int64_t tiles = std::min(blocking_.tiles, share.end - first);
      const int64_t begin = team.begin(tiles), count = team.end(tiles) - begin;
      simd::winograd_input(shape_.m, shape_.in, x, {first + begin, count, begin, 0, shape_.in.blocks}, in);
      simd::winograd_output_adjoint(shape_.m, shape_.out, dy, {first + begin, count, begin, 0, shape_.out.blocks}, out,
                                    sums);
      team.wait();
      multiply(team, in, out, tiles, first != share.first, u);
      team.wait();
    }
  }

  void multiply(const WinogradTeam& team, const simd::WinogradTiles& in, const simd::WinogradTiles& out, int64_t tiles,
                bool accumulate, float* u) const {
    const int64_t panels = shape_.panels(), jobs = shape_.points() * panels;
    for (int64_t job = team.begin(jobs); job < team.end(jobs); ++job) {
      const int64_t point = job / panels, panel = job % panels;
      simd::WinogradProduct product{};
      product.left = in.data + point * in.point_stride;
      product.left_stride = in.panel_stride;
      product.right = out.data + point * out.point_stride + panel * out.panel_stride;
      product.result = u + point * weights_.point_stride + panel * weights_.panel_stride;
      product.tiles = tiles;
      product.channel_blocks = shape_.in.blocks;
      product.vectors = shape_.vectors_of(panel);
      product.accumulate = accumulate;
      simd::winograd_multiply_tiles(product);
    }
  }

  void finish_weights(const KernelArguments& arguments, const float* u, int64_t parts) const {
    simd::WinogradWeights job = weights_;
    job.parts = parts;
    auto* w = static_cast<float*>(arguments.outputs[0]);
#pragma omp parallel for schedule(static) num_threads(arguments.threads)
    for (int64_t column = 0; column < job.column_blocks; ++column) {
      simd::winograd_weights_adjoint(shape_.m, job, u, column, column + 1, w);
    }
  }

  void add_up(const float* sums, int threads, float* bias) const {
    for (int64_t c = 0; c < channels_; ++c) {
      float sum = 0;
      for (int thread = 0; thread < threads; ++thread) sum += sums[thread * sums_floats() + c];
      bias[c] = sum;
    }
  }

  WinogradShape shape_;
  WinogradBlocking blocking_;
  /// part_stride: floats of one buffer (tiles of x, tiles of dy, transformed weights).
  simd::WinogradWeights weights_;
  simd::WinogradTiles in_tiles_, out_tiles_;
  int64_t buffers_ = 1;
  int64_t channels_ = 0;
  bool with_bias_ = false;
};

std::unique_ptr<Kernel> make_grad_weights(const KernelRequest& request, std::string& declined) {
  const int m = choose_winograd(request, WinogradPass::kWeights, declined);
  return m > 0 ? std::make_unique<WinogradGradWeightsKernel>(request, m) : nullptr;
}

const RegisterKernel kGradWeights(op::kConvGradWeights, "winograd", KernelPriority::kSpecial, make_grad_weights);

}  // namespace
}  // namespace thalweg

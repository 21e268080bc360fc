// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Attention by heads: each thread takes whole heads, packs keys and values once, and goes over the queries in blocks
// whose scores stay in the cache. Heads are read and written where they lie, whatever the layout.
#include <algorithm>

#include "ops/attention_heads.h"
#include "ops/ids.h"
#include "runtime/kernel.h"
#include "runtime/kernels/native/rnn_common.h"
#include "runtime/kernels/simd/attention_rows.h"
#include "runtime/kernels/simd/panel_gemm.h"

namespace thalweg {
namespace {

constexpr int64_t kBlock = 96;  ///< queries at a time

AttentionShape shape_of(const Node& node) {
  const bool packed = node.attrs().text("layout") == "packed";
  return {node.attrs(), node.input(0)->shape(), node.input(packed ? 0 : 1)->shape(),
          node.input(packed ? 0 : 2)->shape()};
}

/// What forward and backward share: sizes, the mask's strides, and memory for each thread.
class AttentionKernel : public Kernel {
 public:
  explicit AttentionKernel(const Node& node) : shape_(shape_of(node)) {
    inputs = plain_inputs(node);
    outputs = plain_outputs(node);
    if (node.input(3) == nullptr) return;
    const Shape& mask = node.input(3)->shape();
    const auto strides = mask.strides();
    for (int i = 1; i <= mask.rank(); ++i) {
      mask_strides_[4 - i] = mask[-i] == 1 ? 0 : strides[static_cast<size_t>(mask.rank() - i)];
    }
  }

  /// A mask must have all keys in a row.
  static bool accepts(const Node& node, std::string& declined) {
    if (node.input(0)->dtype() != DType::kF32 || has_empty_operand(node)) {
      declined = "an operand is empty or not f32";
    } else if (node.attrs().flag("mask_gradient")) {
      declined = "the gradient of the mask is wanted";
    } else if (node.input(3) != nullptr) {
      const Shape& mask = node.input(3)->shape();
      if (mask.rank() < 1 || mask[-1] != shape_of(node).keys) declined = "the mask is broadcast along the keys";
    }
    return declined.empty();
  }

  void run(const KernelArguments& arguments) const override {
    const int64_t heads = shape_.batch * shape_.heads;
    const int64_t parts = std::min<int64_t>(arguments.threads, heads);
    // Threads of this run may be fewer than those that scratch was cut for, never more.
#pragma omp parallel for schedule(static, 1) num_threads(arguments.threads)
    for (int64_t part = 0; part < parts; ++part) {
      void* scratch = static_cast<char*>(arguments.scratch) + static_cast<size_t>(part) * thread_bytes_;
      for (int64_t head = heads * part / parts; head < heads * (part + 1) / parts; ++head) {
        run_head(arguments, head / shape_.heads, head % shape_.heads, scratch);
      }
    }
  }

 protected:
  virtual void run_head(const KernelArguments& arguments, int64_t b, int64_t h, void* scratch) const = 0;

  static float* at(void* data, const HeadStrides& strides, int64_t b, int64_t h) {
    return static_cast<float*>(data) + strides.offset + b * strides.batch + h * strides.head;
  }
  void* operand(std::span<void* const> group, size_t index) const { return group[shape_.packed ? 0 : index]; }

  const float* mask_row(const KernelArguments& arguments, int64_t b, int64_t h, int64_t t) const {
    if (arguments.inputs.size() < 4 || arguments.inputs[3] == nullptr) return nullptr;
    return static_cast<const float*>(arguments.inputs[3]) + b * mask_strides_[0] + h * mask_strides_[1] +
           t * mask_strides_[2];
  }
  int64_t sums_at(int64_t b, int64_t h) const { return (b * shape_.heads + h) * shape_.queries; }

  AttentionShape shape_;
  int64_t mask_strides_[4] = {};
  size_t thread_bytes_ = 0;
};

class AttentionForward : public AttentionKernel {
 public:
  AttentionForward(const Node& node, int threads) : AttentionKernel(node) {
    name = "native attention";
    ScratchCutter cutter;
    keys_ = cutter.add(simd::packed_size(shape_.width, shape_.keys));
    values_ = cutter.add(simd::packed_size(shape_.keys, shape_.value_width));
    scores_ = cutter.add(kBlock * shape_.keys);
    thread_bytes_ = cutter.bytes();
    scratch_bytes = thread_bytes_ * static_cast<size_t>(threads);
  }

 protected:
  void run_head(const KernelArguments& arguments, int64_t b, int64_t h, void* scratch) const override {
    const AttentionShape& s = shape_;
    float* keys = at_offset(scratch, keys_);
    float* values = at_offset(scratch, values_);
    float* scores = at_offset(scratch, scores_);
    const float* q = at(arguments.inputs[0], s.q, b, h);
    float* y = at(arguments.outputs[0], s.y, b, h);
    float* sums = static_cast<float*>(arguments.outputs[1]) + sums_at(b, h);
    simd::pack_panels({at(operand(arguments.inputs, 1), s.k, b, h), 1, s.k.time}, s.width, s.keys, keys);
    simd::pack_panels({at(operand(arguments.inputs, 2), s.v, b, h), s.v.time, 1}, s.keys, s.value_width, values);
    for (int64_t first = 0; first < s.queries; first += kBlock) {
      const int64_t rows = std::min(kBlock, s.queries - first);
      simd::panel_gemm({q + first * s.q.time, s.q.time, 1}, keys, rows, s.keys, s.width, scores, s.keys, false);
      for (int64_t r = 0; r < rows; ++r) {
        simd::attention_softmax(scores + r * s.keys, mask_row(arguments, b, h, first + r), static_cast<float>(s.scale),
                                s.visible(first + r), s.keys, sums + first + r);
      }
      simd::panel_gemm({scores, s.keys, 1}, values, rows, s.value_width, s.keys, y + first * s.y.time, s.y.time, false);
    }
  }

 private:
  size_t keys_ = 0, values_ = 0, scores_ = 0;
};

class AttentionBackward : public AttentionKernel {
 public:
  AttentionBackward(const Node& node, int threads) : AttentionKernel(node) {
    name = "native attention_grad";
    ScratchCutter cutter;
    keys_across_ = cutter.add(simd::packed_size(shape_.width, shape_.keys));
    values_across_ = cutter.add(simd::packed_size(shape_.value_width, shape_.keys));
    keys_ = cutter.add(simd::packed_size(shape_.keys, shape_.width));
    queries_ = cutter.add(simd::packed_size(kBlock, shape_.width));
    dy_ = cutter.add(simd::packed_size(kBlock, shape_.value_width));
    p_ = cutter.add(kBlock * shape_.keys);
    ds_ = cutter.add(kBlock * shape_.keys);
    thread_bytes_ = cutter.bytes();
    scratch_bytes = thread_bytes_ * static_cast<size_t>(threads);
  }

 protected:
  void run_head(const KernelArguments& arguments, int64_t b, int64_t h, void* scratch) const override {
    const AttentionShape& s = shape_;
    const float* k = at(operand(arguments.inputs, 1), s.k, b, h);
    const float* v = at(operand(arguments.inputs, 2), s.v, b, h);
    simd::pack_panels({k, 1, s.k.time}, s.width, s.keys, at_offset(scratch, keys_across_));
    simd::pack_panels({v, 1, s.v.time}, s.value_width, s.keys, at_offset(scratch, values_across_));
    simd::pack_panels({k, s.k.time, 1}, s.keys, s.width, at_offset(scratch, keys_));
    for (int64_t first = 0; first < s.queries; first += kBlock) {
      const int64_t rows = std::min(kBlock, s.queries - first);
      recompute(arguments, b, h, first, rows, scratch);
      multiply(arguments, b, h, first, rows, scratch);
    }
  }

 private:
  /// Probabilities, and the gradient of the scores, of a block of queries.
  void recompute(const KernelArguments& arguments, int64_t b, int64_t h, int64_t first, int64_t rows,
                 void* scratch) const {
    const AttentionShape& s = shape_;
    float* p = at_offset(scratch, p_);
    float* ds = at_offset(scratch, ds_);
    const float* q = at(arguments.inputs[0], s.q, b, h) + first * s.q.time;
    const float* y = at(arguments.inputs[4], s.y, b, h) + first * s.y.time;
    const float* sums = static_cast<const float*>(arguments.inputs[5]) + sums_at(b, h) + first;
    const float* dy = at(arguments.inputs[6], s.y, b, h) + first * s.y.time;
    const auto scale = static_cast<float>(s.scale);
    simd::panel_gemm({q, s.q.time, 1}, at_offset(scratch, keys_across_), rows, s.keys, s.width, p, s.keys, false);
    simd::panel_gemm({dy, s.y.time, 1}, at_offset(scratch, values_across_), rows, s.keys, s.value_width, ds, s.keys,
                     false);
    for (int64_t r = 0; r < rows; ++r) {
      float delta = 0;
      simd::dot_product(dy + r * s.y.time, y + r * s.y.time, s.value_width, &delta);
      simd::attention_probabilities(p + r * s.keys, mask_row(arguments, b, h, first + r), scale, s.visible(first + r),
                                    s.keys, sums[r]);
      simd::attention_dscores(p + r * s.keys, ds + r * s.keys, delta, scale, s.keys);
    }
  }

  void multiply(const KernelArguments& arguments, int64_t b, int64_t h, int64_t first, int64_t rows,
                void* scratch) const {
    const AttentionShape& s = shape_;
    const float* p = at_offset(scratch, p_);
    const float* ds = at_offset(scratch, ds_);
    const bool more = first > 0;
    simd::pack_panels({at(arguments.inputs[0], s.q, b, h) + first * s.q.time, s.q.time, 1}, rows, s.width,
                      at_offset(scratch, queries_));
    simd::pack_panels({at(arguments.inputs[6], s.y, b, h) + first * s.y.time, s.y.time, 1}, rows, s.value_width,
                      at_offset(scratch, dy_));
    simd::panel_gemm({ds, s.keys, 1}, at_offset(scratch, keys_), rows, s.width, s.keys,
                     at(arguments.outputs[0], s.q, b, h) + first * s.q.time, s.q.time, false);
    simd::panel_gemm({ds, 1, s.keys}, at_offset(scratch, queries_), s.keys, s.width, rows,
                     at(operand(arguments.outputs, 1), s.k, b, h), s.k.time, more);
    simd::panel_gemm({p, 1, s.keys}, at_offset(scratch, dy_), s.keys, s.value_width, rows,
                     at(operand(arguments.outputs, 2), s.v, b, h), s.v.time, more);
  }

  size_t keys_across_ = 0, values_across_ = 0, keys_ = 0, queries_ = 0, dy_ = 0, p_ = 0, ds_ = 0;
};

template <typename Made>
std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& declined) {
  if (!AttentionKernel::accepts(request.node, declined)) return nullptr;
  return std::make_unique<Made>(request.node, request.threads);
}

const RegisterKernel kForward(op::kAttention, "native", KernelPriority::kNative, make<AttentionForward>);
const RegisterKernel kBackward(op::kAttentionGrad, "native", KernelPriority::kNative, make<AttentionBackward>);

}  // namespace
}  // namespace thalweg

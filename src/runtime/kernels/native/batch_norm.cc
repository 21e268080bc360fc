// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/batch_norm.h"

#include <cmath>

#include "ops/ids.h"
#include "runtime/kernel.h"
#include "runtime/kernels/native/channel_cut.h"

namespace thalweg {
namespace {

/// Results larger than this leave the caches before they are read: write around them.
constexpr size_t kStreamBytes = size_t{8} << 20;

/// Vectors with an element per channel, and the sums of every piece, in the kernel's scratch memory.
class Workspace {
 public:
  Workspace(const ChannelCut& cut, void* memory) : cut_(cut), sums_(static_cast<double*>(memory)) {}
  static size_t bytes(const ChannelCut& cut) {
    return static_cast<size_t>(cut.total_channels()) *
           (2 * static_cast<size_t>(cut.segments) * sizeof(double) + kVectors * sizeof(float));
  }

  double* first_sums(int64_t block, int64_t segment) const {
    return sums_ + (block * cut_.segments + segment) * 2 * cut_.channels;
  }
  double* second_sums(int64_t block, int64_t segment) const { return first_sums(block, segment) + cut_.channels; }
  void clear(int64_t block, int64_t segment) const { std::fill_n(first_sums(block, segment), 2 * cut_.channels, 0.0); }
  /// Sums over all segments, in their order.
  double total(const double* of_first_segment) const {
    double sum = 0;
    for (int64_t s = 0; s < cut_.segments; ++s) sum += of_first_segment[s * 2 * cut_.channels];
    return sum;
  }
  float* vector(int64_t index) const {
    return reinterpret_cast<float*>(sums_ + 2 * cut_.total_channels() * cut_.segments) + index * cut_.total_channels();
  }

 private:
  static constexpr size_t kVectors = 4;
  const ChannelCut& cut_;
  double* sums_;
};

class BatchNormKernel : public Kernel {
 protected:
  BatchNormKernel(const KernelRequest& request, const ChannelBlocking& blocking, const Layout& activation)
      : cut_(blocking, request.threads), bf16_(activation.dtype() == DType::kBF16) {
    epsilon_ = request.node.attrs().real("epsilon");
    stream_ = activation.bytes() > kStreamBytes;
    name = "native";
    scratch_bytes = Workspace::bytes(cut_);
  }

  simd::ChannelRows piece(int64_t segment) const { return {cut_.rows(segment), cut_.channels, bf16_}; }
  simd::ChannelRows piece_to_sum(int64_t block, int64_t segment) const {
    return {cut_.rows(segment), cut_.channels, bf16_, cut_.ahead(block, segment)};
  }
  /// Address of a piece; null stays null.
  template <typename Pointer>
  Pointer at(Pointer base, int64_t block, int64_t segment) const {
    using Byte = std::conditional_t<std::is_same_v<Pointer, void*>, char*, const char*>;
    return base == nullptr ? nullptr : static_cast<Byte>(base) + cut_.offset(block, segment) * (bf16_ ? 2 : 4);
  }
  float reciprocal_deviation(float variance) const {
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(variance) + epsilon_));
  }

  ChannelCut cut_;
  bool bf16_;
  double epsilon_ = 0;
  bool stream_ = false;
};

class Forward : public BatchNormKernel {
 public:
  Forward(const KernelRequest& request, const ChannelBlocking& blocking, const Layout& activation)
      : BatchNormKernel(request, blocking, activation), relu_(request.node.attrs().text("activation") == op::kRelu) {
    inputs = plain_inputs(request.node);
    outputs = plain_outputs(request.node);
    inputs[0] = outputs[0] = activation;
    if (inputs.size() > 3) {
      inputs[3] = activation;
      in_place = {{3, 0}};
    }
  }

  void run(const KernelArguments& arguments) const override {
    const Workspace work(cut_, arguments.scratch);
    const void* x = arguments.inputs[0];
    auto* mean = static_cast<float*>(arguments.outputs[1]);
    const auto* shift = static_cast<const float*>(arguments.inputs[2]);
    float* pivot = work.vector(0);
    float* factor = work.vector(1);
    read_pivots(x, pivot);
    reduce_then_apply(
        cut_, arguments.threads,
        [&](int64_t block, int64_t s) {
          work.clear(block, s);
          simd::batch_norm_sums(piece_to_sum(block, s), at(x, block, s), pivot + block * cut_.channels,
                                work.first_sums(block, s), work.second_sums(block, s));
        },
        [&](int64_t block) { combine(arguments, work, block); },
        [&](int64_t block, int64_t s) {
          const int64_t c = block * cut_.channels;
          const void* residual = arguments.inputs.size() > 3 ? arguments.inputs[3] : nullptr;
          simd::batch_norm_apply(piece(s), {at(x, block, s), at(residual, block, s), at(arguments.outputs[0], block, s),
                                            mean + c, factor + c, shift + c, relu_, stream_});
        });
  }

 private:
  /// The first element of each channel: near enough to the mean for the sums to be exact.
  void read_pivots(const void* x, float* pivot) const {
    for (int64_t block = 0; block < cut_.blocks; ++block) {
      const void* first = at(x, block, 0);
      for (int64_t c = 0; c < cut_.channels; ++c) {
        pivot[block * cut_.channels + c] =
            bf16_ ? static_cast<float>(static_cast<const BF16*>(first)[c]) : static_cast<const float*>(first)[c];
      }
    }
  }

  void combine(const KernelArguments& arguments, const Workspace& work, int64_t block) const {
    const auto* scale = static_cast<const float*>(arguments.inputs[1]);
    const auto count = static_cast<double>(cut_.rows_per_channel());
    for (int64_t i = 0; i < cut_.channels; ++i) {
      const int64_t c = block * cut_.channels + i;
      const double shifted = work.total(work.first_sums(block, 0) + i) / count;
      const double square = work.total(work.second_sums(block, 0) + i) / count;
      const auto variance = static_cast<float>(std::max(0.0, square - shifted * shifted));
      static_cast<float*>(arguments.outputs[1])[c] = static_cast<float>(work.vector(0)[c] + shifted);
      static_cast<float*>(arguments.outputs[2])[c] = variance;
      work.vector(1)[c] = scale[c] * reciprocal_deviation(variance);
    }
  }

  bool relu_;
};

class Inference : public BatchNormKernel {
 public:
  Inference(const KernelRequest& request, const ChannelBlocking& blocking, const Layout& activation)
      : BatchNormKernel(request, blocking, activation) {
    inputs = plain_inputs(request.node);
    outputs = {activation};
    inputs[0] = activation;
    in_place = {{0, 0}};
  }

  void run(const KernelArguments& arguments) const override {
    float* factor = Workspace(cut_, arguments.scratch).vector(0);
    const auto* scale = static_cast<const float*>(arguments.inputs[1]);
    const auto* shift = static_cast<const float*>(arguments.inputs[2]);
    const auto* mean = static_cast<const float*>(arguments.inputs[3]);
    const auto* variance = static_cast<const float*>(arguments.inputs[4]);
    for (int64_t c = 0; c < cut_.total_channels(); ++c) factor[c] = scale[c] * reciprocal_deviation(variance[c]);
    const int threads = cut_.elements() < kParallelElements ? 1 : arguments.threads;
#pragma omp parallel for collapse(2) num_threads(threads) schedule(static)
    for (int64_t s = 0; s < cut_.segments; ++s) {
      for (int64_t block = 0; block < cut_.blocks; ++block) {
        const int64_t c = block * cut_.channels;
        simd::batch_norm_apply(
            piece(s), {at(arguments.inputs[0], block, s), nullptr, at(arguments.outputs[0], block, s), mean + c,
                       factor + c, shift + c, false, stream_});
      }
    }
  }
};

class Backward : public BatchNormKernel {
 public:
  Backward(const KernelRequest& request, const ChannelBlocking& blocking, const Layout& activation)
      : BatchNormKernel(request, blocking, activation), frozen_(request.node.attrs().flag("frozen")) {
    inputs = plain_inputs(request.node);
    outputs = plain_outputs(request.node);
    for (size_t i : {kDy, kX, kY, kDy2}) {
      if (i < inputs.size() && request.node.input(i) != nullptr) inputs[i] = activation;
    }
    outputs[0] = activation;
    // The sums read what dx overwrites, and the masked gradient is complete before dx is begun; x is read by both.
    in_place = {{kDy, 0}, {kDy2, 0}, {kX, 0}};
    if (outputs.size() > 3) {
      outputs[3] = activation;
      in_place = {{kDy, 3}, {kDy2, 3}, {kX, 0}, {kY, 0}, {kDy2, 0}};
    }
    std::erase_if(in_place,
                  [&](const auto& pair) { return request.node.input(static_cast<size_t>(pair.first)) == nullptr; });
    if (request.node.input(kY) != nullptr) {
      mask_ = simd::ReluMask::kFromY;
    } else if (request.node.input(kShift) != nullptr) {
      mask_ = simd::ReluMask::kFromX;
    }
  }

  void run(const KernelArguments& arguments) const override {
    const Workspace work(cut_, arguments.scratch);
    prepare(arguments, work);
    reduce_then_apply(
        cut_, arguments.threads,
        [&](int64_t block, int64_t s) {
          work.clear(block, s);
          simd::batch_norm_grad_sums(piece_to_sum(block, s), call(arguments, work, block, s), work.first_sums(block, s),
                                     work.second_sums(block, s));
        },
        [&](int64_t block) { combine(arguments, work, block); },
        [&](int64_t block, int64_t s) {
          simd::BatchNormBackward second = call(arguments, work, block, s);
          if (second.dx == nullptr) return;
          if (second.masked_dy != nullptr) {
            second.dy = second.masked_dy;
            second.dy2 = nullptr;
            second.mask = simd::ReluMask::kNone;
          }
          simd::batch_norm_grad_apply(piece(s), second);
        });
  }

 private:
  enum Input : size_t { kDy, kX, kScale, kMean, kVariance, kShift, kY, kDy2 };
  enum Vector : int64_t { kFactor, kOffset, kSlope, kDeviation };

  static const void* input(const KernelArguments& arguments, size_t index) {
    return index < arguments.inputs.size() ? arguments.inputs[index] : nullptr;
  }

  void prepare(const KernelArguments& arguments, const Workspace& work) const {
    const auto* scale = static_cast<const float*>(arguments.inputs[kScale]);
    const auto* variance = static_cast<const float*>(arguments.inputs[kVariance]);
    for (int64_t c = 0; c < cut_.total_channels(); ++c) {
      work.vector(kDeviation)[c] = reciprocal_deviation(variance[c]);
      work.vector(kFactor)[c] = scale[c] * work.vector(kDeviation)[c];
    }
  }

  simd::BatchNormBackward call(const KernelArguments& arguments, const Workspace& work, int64_t block,
                               int64_t s) const {
    const int64_t c = block * cut_.channels;
    const auto* shift = static_cast<const float*>(input(arguments, kShift));
    return {at(input(arguments, kDy), block, s),
            at(input(arguments, kDy2), block, s),
            at(input(arguments, kX), block, s),
            at(input(arguments, kY), block, s),
            at(arguments.outputs.size() > 3 ? arguments.outputs[3] : nullptr, block, s),
            at(arguments.outputs[0], block, s),
            static_cast<const float*>(input(arguments, kMean)) + c,
            work.vector(kFactor) + c,
            shift != nullptr ? shift + c : nullptr,
            work.vector(kOffset) + c,
            work.vector(kSlope) + c,
            mask_,
            stream_};
  }

  void combine(const KernelArguments& arguments, const Workspace& work, int64_t block) const {
    const double share = frozen_ ? 0 : 1 / static_cast<double>(cut_.rows_per_channel());
    for (int64_t i = 0; i < cut_.channels; ++i) {
      const int64_t c = block * cut_.channels + i;
      const double factor = work.vector(kFactor)[c];
      const double deviation = work.vector(kDeviation)[c];
      const double dshift = work.total(work.first_sums(block, 0) + i);
      const double dscale = work.total(work.second_sums(block, 0) + i) * deviation;
      work.vector(kOffset)[c] = static_cast<float>(-factor * dshift * share);
      work.vector(kSlope)[c] = static_cast<float>(-factor * dscale * deviation * share);
      if (arguments.outputs[1] != nullptr) static_cast<float*>(arguments.outputs[1])[c] = static_cast<float>(dscale);
      if (arguments.outputs[2] != nullptr) static_cast<float*>(arguments.outputs[2])[c] = static_cast<float>(dshift);
    }
  }

  bool frozen_;
  simd::ReluMask mask_ = simd::ReluMask::kNone;
};

template <typename K, size_t kActivation>
std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& declined) {
  const TensorType& type = request.node.input(kActivation)->type();
  if (type.dtype != DType::kF32 && type.dtype != DType::kBF16) {
    declined = "element type is neither f32 nor bf16";
    return nullptr;
  }
  if (has_empty_operand(request.node)) {
    declined = "empty operand";
    return nullptr;
  }
  Layout activation = request.inputs[kActivation];
  ChannelBlocking blocking;
  if (!channel_blocking(activation, blocking)) {
    activation = Layout(type);
    channel_blocking(activation, blocking);
  }
  return std::make_unique<K>(request, blocking, activation);
}

const RegisterKernel kForward(op::kBatchNorm, "native", KernelPriority::kNative, make<Forward, 0>);
const RegisterKernel kInference(op::kBatchNormInference, "native", KernelPriority::kNative, make<Inference, 0>);
const RegisterKernel kBackward(op::kBatchNormGrad, "native", KernelPriority::kNative, make<Backward, 1>);

}  // namespace
}  // namespace thalweg

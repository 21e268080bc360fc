// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Group normalisation with the loops of batch normalisation: sums by image and channel, put together by group.
#include <cmath>
#include <vector>

#include "ops/ids.h"
#include "runtime/kernel.h"
#include "runtime/kernels/native/channel_cut.h"
#include "runtime/kernels/simd/batch_norm.h"

namespace thalweg {
namespace {

class GroupNormKernel : public Kernel {
 protected:
  GroupNormKernel(const KernelRequest& request, const ChannelBlocking& blocking, const Layout& activation)
      : blocking_(blocking),
        channels_(activation.shape()[1]),
        groups_(request.node.attrs().integer("groups")),
        epsilon_(request.node.attrs().real("epsilon")),
        bf16_(activation.dtype() == DType::kBF16) {
    name = "native";
    inputs = plain_inputs(request.node);
    outputs = plain_outputs(request.node);
  }

  /// Runs `sums(image, block)` for all pieces of an image, `combine(image)`, then `apply(image, block)`.
  template <typename Sums, typename Combine, typename Apply>
  void each_image(int threads, Sums sums, Combine combine, Apply apply) const {
    const int64_t elements = blocking_.outer * channels_ * blocking_.spatial;
    const int used = elements < kParallelElements ? 1 : threads;
#pragma omp parallel for num_threads(used) schedule(static)
    for (int64_t n = 0; n < blocking_.outer; ++n) {
      for (int64_t b = 0; b < blocking_.blocks; ++b) sums(n, b);
      combine(n);
      for (int64_t b = blocking_.blocks; b-- > 0;) apply(n, b);
    }
  }

  simd::ChannelRows piece() const { return {blocking_.spatial, blocking_.block, bf16_}; }
  int64_t offset(int64_t image, int64_t block) const {
    return (image * blocking_.blocks + block) * blocking_.spatial * blocking_.block * (bf16_ ? 2 : 4);
  }
  const void* at(const void* base, int64_t n, int64_t b) const { return static_cast<const char*>(base) + offset(n, b); }
  void* at(void* base, int64_t n, int64_t b) const { return static_cast<char*>(base) + offset(n, b); }
  /// Index of a vector with an element per image and channel.
  int64_t channel(int64_t image, int64_t c) const { return image * channels_ + c; }
  int64_t channels_per_group() const { return channels_ / groups_; }
  double count() const { return static_cast<double>(channels_per_group() * blocking_.spatial); }

  ChannelBlocking blocking_;
  int64_t channels_, groups_;
  double epsilon_;
  bool bf16_;
};

double parameter(const KernelArguments& arguments, size_t index, int64_t c, double fallback) {
  if (index >= arguments.inputs.size() || arguments.inputs[index] == nullptr) return fallback;
  return static_cast<double>(static_cast<const float*>(arguments.inputs[index])[c]);
}

class Forward : public GroupNormKernel {
 public:
  Forward(const KernelRequest& request, const ChannelBlocking& blocking, const Layout& activation)
      : GroupNormKernel(request, blocking, activation) {
    inputs[0] = outputs[0] = activation;
    in_place = {{0, 0}};
    scratch_bytes = static_cast<size_t>(blocking.outer * channels_) * (2 * sizeof(double) + 4 * sizeof(float));
  }

  void run(const KernelArguments& arguments) const override {
    const int64_t all = blocking_.outer * channels_;
    auto* sum = static_cast<double*>(arguments.scratch);
    double* squares = sum + all;
    auto* pivot = reinterpret_cast<float*>(squares + all);
    float* mean = pivot + all;
    float* factor = mean + all;
    float* shift = factor + all;
    each_image(
        arguments.threads,
        [&](int64_t n, int64_t b) {
          const int64_t c = channel(n, b * blocking_.block);
          const void* x = at(arguments.inputs[0], n, b);
          for (int64_t i = 0; i < blocking_.block; ++i) {
            pivot[c + i] = bf16_ ? static_cast<float>(static_cast<const BF16*>(x)[i]) : static_cast<const float*>(x)[i];
            sum[c + i] = squares[c + i] = 0;
          }
          simd::batch_norm_sums(piece(), x, pivot + c, sum + c, squares + c);
        },
        [&](int64_t n) {
          combine(arguments, n, {sum, squares, pivot, mean, factor, shift});
        },
        [&](int64_t n, int64_t b) {
          const int64_t c = channel(n, b * blocking_.block);
          simd::batch_norm_apply(piece(), {at(arguments.inputs[0], n, b), nullptr, at(arguments.outputs[0], n, b),
                                           mean + c, factor + c, shift + c, false, false});
        });
  }

 private:
  struct Vectors {
    const double* sum;
    const double* squares;
    const float* pivot;
    float* mean;
    float* factor;
    float* shift;
  };

  /// Mean and spread of the channels first, then those of the group around its mean: nothing large cancels.
  void combine(const KernelArguments& arguments, int64_t n, const Vectors& v) const {
    const auto rows = static_cast<double>(blocking_.spatial);
    for (int64_t g = 0; g < groups_; ++g) {
      const int64_t first = channel(n, g * channels_per_group()), last = first + channels_per_group();
      double mean = 0, variance = 0;
      for (int64_t c = first; c < last; ++c) mean += v.pivot[c] + v.sum[c] / rows;
      mean /= static_cast<double>(channels_per_group());
      for (int64_t c = first; c < last; ++c) {
        const double own = v.sum[c] / rows;
        const double distance = v.pivot[c] + own - mean;
        variance += (v.squares[c] / rows - own * own + distance * distance) / static_cast<double>(channels_per_group());
      }
      variance = std::max(0.0, variance);
      static_cast<float*>(arguments.outputs[1])[n * groups_ + g] = static_cast<float>(mean);
      static_cast<float*>(arguments.outputs[2])[n * groups_ + g] = static_cast<float>(variance);
      const double rstd = 1 / std::sqrt(variance + epsilon_);
      for (int64_t c = first; c < last; ++c) {
        v.mean[c] = static_cast<float>(mean);
        v.factor[c] = static_cast<float>(rstd * parameter(arguments, 1, c - channel(n, 0), 1));
        v.shift[c] = static_cast<float>(parameter(arguments, 2, c - channel(n, 0), 0));
      }
    }
  }
};

class Backward : public GroupNormKernel {
 public:
  Backward(const KernelRequest& request, const ChannelBlocking& blocking, const Layout& activation)
      : GroupNormKernel(request, blocking, activation) {
    inputs[0] = inputs[1] = outputs[0] = activation;
    in_place = {{0, 0}, {1, 0}};
    scratch_bytes = static_cast<size_t>(blocking.outer * channels_) * (2 * sizeof(double) + 4 * sizeof(float));
  }

  void run(const KernelArguments& arguments) const override {
    const int64_t all = blocking_.outer * channels_;
    auto* sum = static_cast<double*>(arguments.scratch);
    double* products = sum + all;
    auto* mean = reinterpret_cast<float*>(products + all);
    const Vectors v{sum, products, mean, mean + all, mean + 2 * all, mean + 3 * all};
    each_image(
        arguments.threads,
        [&](int64_t n, int64_t b) {
          const int64_t first = channel(n, b * blocking_.block);
          for (int64_t c = first; c < first + blocking_.block; ++c) prepare(arguments, v, n, c);
          simd::batch_norm_grad_sums(piece(), call(arguments, v, n, b), sum + first, products + first);
        },
        [&](int64_t n) { combine(arguments, v, n); },
        [&](int64_t n, int64_t b) { simd::batch_norm_grad_apply(piece(), call(arguments, v, n, b)); });
    put_parameter_gradients(arguments, v);
  }

 private:
  struct Vectors {
    double* sum;
    double* products;
    float* mean;
    float* factor;
    float* offset;
    float* slope;
  };

  double rstd(const KernelArguments& arguments, int64_t n, int64_t c) const {
    const int64_t group = n * groups_ + c / channels_per_group();
    return 1 / std::sqrt(static_cast<double>(static_cast<const float*>(arguments.inputs[3])[group]) + epsilon_);
  }

  void prepare(const KernelArguments& arguments, const Vectors& v, int64_t n, int64_t at_channel) const {
    const int64_t c = at_channel - channel(n, 0);
    v.sum[at_channel] = v.products[at_channel] = 0;
    v.mean[at_channel] = static_cast<const float*>(arguments.inputs[2])[n * groups_ + c / channels_per_group()];
    v.factor[at_channel] = static_cast<float>(rstd(arguments, n, c) * parameter(arguments, 4, c, 1));
  }

  simd::BatchNormBackward call(const KernelArguments& arguments, const Vectors& v, int64_t n, int64_t b) const {
    const int64_t c = channel(n, b * blocking_.block);
    return {at(arguments.inputs[0], n, b),
            nullptr,
            at(arguments.inputs[1], n, b),
            nullptr,
            nullptr,
            at(arguments.outputs[0], n, b),
            v.mean + c,
            v.factor + c,
            nullptr,
            v.offset + c,
            v.slope + c,
            simd::ReluMask::kNone,
            false};
  }

  void combine(const KernelArguments& arguments, const Vectors& v, int64_t n) const {
    for (int64_t g = 0; g < groups_; ++g) {
      const int64_t first = channel(n, g * channels_per_group()), last = first + channels_per_group();
      double sum = 0, product = 0;
      for (int64_t c = first; c < last; ++c) {
        const double scale = parameter(arguments, 4, c - channel(n, 0), 1);
        sum += scale * v.sum[c];
        product += scale * v.products[c];
      }
      const double r = rstd(arguments, n, g * channels_per_group());
      for (int64_t c = first; c < last; ++c) {
        v.offset[c] = static_cast<float>(-r * sum / count());
        v.slope[c] = static_cast<float>(-r * r * r * product / count());
      }
    }
  }

  /// Over the images, in their order.
  void put_parameter_gradients(const KernelArguments& arguments, const Vectors& v) const {
    for (int64_t c = 0; c < channels_; ++c) {
      double dscale = 0, dshift = 0;
      for (int64_t n = 0; n < blocking_.outer; ++n) {
        dscale += v.products[channel(n, c)] * rstd(arguments, n, c);
        dshift += v.sum[channel(n, c)];
      }
      if (arguments.outputs[1] != nullptr) static_cast<float*>(arguments.outputs[1])[c] = static_cast<float>(dscale);
      if (arguments.outputs[2] != nullptr) static_cast<float*>(arguments.outputs[2])[c] = static_cast<float>(dshift);
    }
  }
};

template <typename K, size_t kActivation>
std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& declined) {
  const TensorType& type = request.node.input(kActivation)->type();
  if (type.dtype != DType::kF32 && type.dtype != DType::kBF16) declined = "element type is neither f32 nor bf16";
  if (has_empty_operand(request.node)) declined = "empty operand";
  if (!declined.empty()) return nullptr;
  Layout activation = request.inputs[kActivation];
  ChannelBlocking blocking;
  if (!channel_blocking(activation, blocking)) {
    activation = Layout(type);
    channel_blocking(activation, blocking);
  }
  return std::make_unique<K>(request, blocking, activation);
}

const RegisterKernel kForward(op::kGroupNorm, "native", KernelPriority::kNative, make<Forward, 0>);
const RegisterKernel kBackward(op::kGroupNormGrad, "native", KernelPriority::kNative, make<Backward, 1>);

}  // namespace
}  // namespace thalweg

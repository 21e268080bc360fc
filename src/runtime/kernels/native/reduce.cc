// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/simd/reduce.h"

#include <cmath>
#include <limits>

#include "ops/ids.h"
#include "runtime/kernel.h"
#include "runtime/kernels/native/channel_cut.h"
#include "runtime/kernels/native/ranges.h"

namespace thalweg {
namespace {

std::vector<bool> reduced_dims(const Node& node) {
  const int rank = node.input(0)->shape().rank();
  const std::vector<int64_t> axes = node.attrs().integers("axes");
  std::vector<bool> reduced(static_cast<size_t>(rank), axes.empty());
  for (int64_t axis : axes) reduced[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
  return reduced;
}

/// A row-major reduction as [reduced][kept][reduced][kept], each of which may be 1: that is how the channels of an
/// activation lie. False if the kept and reduced dimensions alternate more often.
bool row_major_blocking(const Shape& shape, const std::vector<bool>& reduced, ChannelBlocking& result) {
  result = {1, 1, 1, 1};
  int64_t* const parts[] = {&result.outer, &result.blocks, &result.spatial, &result.block};
  int part = 3;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] == 1) continue;
    const bool wanted = reduced[static_cast<size_t>(i)];
    while (part >= 0 && (part % 2 == 0) != wanted) --part;
    if (part < 0) return false;
    *parts[part] *= shape[i];
  }
  return true;
}

/// Where the results of a reduction lie: those of a block follow each other, and the last block of an image may have
/// less of them than the layout that is reduced, if that is padded.
struct ResultPlaces {
  int64_t blocks = 1;    ///< of an image
  int64_t channels = 0;  ///< of an image

  /// The place of channel `c` of a block of `size`; -1 where it is padding.
  int64_t of(int64_t block, int64_t c, int64_t size) const {
    const int64_t channel = block % blocks * size + c;
    return channel < channels ? block / blocks * channels + channel : -1;
  }
  /// Those of a block of `size` that are no padding.
  int64_t channels_of(int64_t block, int64_t size) const { return std::min(size, channels - block % blocks * size); }
};

/// Sums over batch and spatial extents, or the spatial ones alone, of a layout with blocks of channels.
bool blocked_blocking(const Layout& layout, const std::vector<bool>& reduced, ChannelBlocking& result,
                      ResultPlaces& places) {
  if (!channel_blocking(layout, result, true) || reduced[1]) return false;
  for (size_t i = 2; i < reduced.size(); ++i) {
    if (!reduced[i]) return false;
  }
  places = {result.blocks, layout.shape()[1]};
  if (!reduced[0]) {
    result.blocks *= result.outer;
    result.outer = 1;
  }
  return true;
}

/// All results of a reduction follow each other.
ResultPlaces in_order(const ChannelBlocking& blocking) { return {blocking.blocks, blocking.blocks * blocking.block}; }

class Reduce : public Kernel {
 public:
  Reduce(const KernelRequest& request, const Layout& layout, const ChannelBlocking& blocking,
         const ResultPlaces& places)
      : cut_(blocking, request.threads), places_(places), from_bf16_(layout.dtype() == DType::kBF16) {
    name = "native";
    inputs = {layout};
    outputs = plain_outputs(request.node);
    scratch_bytes = static_cast<size_t>(cut_.total_channels() * cut_.segments) * sizeof(double);
    if (request.node.op_name() == op::kReduceMean) scale_ = 1.0 / static_cast<double>(cut_.rows_per_channel());
  }

  void run(const KernelArguments& arguments) const override {
    auto* sums = static_cast<double*>(arguments.scratch);
    const auto sums_at = [&](int64_t block, int64_t s) { return sums + (block * cut_.segments + s) * cut_.channels; };
    reduce_then_apply(
        cut_, arguments.threads,
        [&](int64_t block, int64_t s) {
          std::fill_n(sums_at(block, s), cut_.channels, 0.0);
          const auto* x = static_cast<const char*>(arguments.inputs[0]) + cut_.offset(block, s) * (from_bf16_ ? 2 : 4);
          simd::channel_sums({cut_.rows(s), cut_.channels, from_bf16_}, x, sums_at(block, s));
        },
        [&](int64_t block) {
          for (int64_t c = 0; c < cut_.channels; ++c) {
            double total = 0;
            for (int64_t s = 0; s < cut_.segments; ++s) total += sums_at(block, s)[c];
            const int64_t place = places_.of(block, c, cut_.channels);
            if (place >= 0) put(arguments.outputs[0], place, static_cast<float>(total * scale_));
          }
        },
        [](int64_t, int64_t) {});
  }

 private:
  void put(void* to, int64_t index, float value) const {
    if (from_bf16_) {
      static_cast<BF16*>(to)[index] = BF16(value);
    } else {
      static_cast<float*>(to)[index] = value;
    }
  }

  ChannelCut cut_;
  ResultPlaces places_;
  bool from_bf16_;
  double scale_ = 1;
};

int64_t elements_of(const ChannelBlocking& b) { return b.outer * b.blocks * b.spatial * b.block; }

/// Of the first `channels` of a block.
void find_extremes(const ChannelBlocking& b, const float* x, int64_t block, int64_t channels, bool largest,
                   float* result) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::fill_n(result, channels, largest ? -kInfinity : kInfinity);
  for (int64_t o = 0; o < b.outer; ++o) {
    const float* from = x + (o * b.blocks + block) * b.spatial * b.block;
    simd::find_extremes({from, b.spatial, b.block, channels, largest}, result);
  }
}

/// The largest or least elements.
class Extreme : public Kernel {
 public:
  Extreme(const KernelRequest& request, const Layout& layout, const ChannelBlocking& blocking,
          const ResultPlaces& places)
      : blocking_(blocking), places_(places), largest_(request.node.op_name() == op::kReduceMax) {
    name = "native";
    inputs = {layout};
    outputs = plain_outputs(request.node);
  }

  void run(const KernelArguments& arguments) const override {
    const auto* x = static_cast<const float*>(arguments.inputs[0]);
    auto* y = static_cast<float*>(arguments.outputs[0]);
    in_ranges(blocking_.blocks, elements_of(blocking_), arguments.threads, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        find_extremes(blocking_, x, block, places_.channels_of(block, blocking_.block), largest_,
                      y + places_.of(block, 0, blocking_.block));
      }
    });
  }

 private:
  ChannelBlocking blocking_;
  ResultPlaces places_;
  bool largest_;
};

/// Products, norms, and logarithms of sums of exponentials.
class Folded : public Kernel {
 public:
  Folded(const KernelRequest& request, const Layout& layout, const ChannelBlocking& blocking,
         const ResultPlaces& places)
      : blocking_(blocking),
        places_(places),
        fold_(fold_of(request.node)),
        root_(request.node.op_name() == op::kReduceL2) {
    name = "native";
    inputs = {layout};
    outputs = plain_outputs(request.node);
    scratch_bytes = static_cast<size_t>(blocking.blocks * blocking.block) * sizeof(double);
  }

  void run(const KernelArguments& arguments) const override {
    const ChannelBlocking& b = blocking_;
    const auto* x = static_cast<const float*>(arguments.inputs[0]);
    in_ranges(b.blocks, elements_of(b), arguments.threads, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        fold(x, block, static_cast<double*>(arguments.scratch) + block * b.block,
             static_cast<float*>(arguments.outputs[0]) + places_.of(block, 0, b.block));
      }
    });
  }

 private:
  static simd::Fold fold_of(const Node& node) {
    if (node.op_name() == op::kReduceProd) return simd::Fold::kProduct;
    if (node.op_name() == op::kReduceL1) return simd::Fold::kAbsolutes;
    return node.op_name() == op::kReduceL2 ? simd::Fold::kSquares : simd::Fold::kExponentials;
  }

  void fold(const float* x, int64_t block, double* sums, float* y) const {
    const ChannelBlocking& b = blocking_;
    const int64_t channels = places_.channels_of(block, b.block);
    const bool shifts = fold_ == simd::Fold::kExponentials;
    if (shifts) find_extremes(b, x, block, channels, true, y);
    std::fill_n(sums, channels, fold_ == simd::Fold::kProduct ? 1.0 : 0.0);
    for (int64_t o = 0; o < b.outer; ++o) {
      const float* from = x + (o * b.blocks + block) * b.spatial * b.block;
      simd::fold_columns({from, b.spatial, b.block, channels, fold_, shifts ? y : nullptr}, sums);
    }
    for (int64_t c = 0; c < channels; ++c) {
      // Squares that f32 cannot hold, or hardly.
      if (root_ && !(sums[c] > 1e-30 && sums[c] < 1e37)) sums[c] = squares(x, block, c);
      y[c] = finished(sums[c], y[c]);
    }
  }

  double squares(const float* x, int64_t block, int64_t channel) const {
    const ChannelBlocking& b = blocking_;
    double sum = 0;
    for (int64_t o = 0; o < b.outer; ++o) {
      const float* from = x + (o * b.blocks + block) * b.spatial * b.block + channel;
      for (int64_t s = 0; s < b.spatial; ++s) sum += static_cast<double>(from[s * b.block]) * from[s * b.block];
    }
    return sum;
  }

  float finished(double sum, float largest) const {
    if (fold_ != simd::Fold::kExponentials) return static_cast<float>(root_ ? std::sqrt(sum) : sum);
    return std::isfinite(largest) ? static_cast<float>(largest + std::log(sum)) : largest;
  }

  ChannelBlocking blocking_;
  ResultPlaces places_;
  simd::Fold fold_;
  bool root_;
};

template <typename Made>
std::unique_ptr<Kernel> make_of_floats(const KernelRequest& request, std::string& declined) {
  const TensorType& type = request.node.input(0)->type();
  if (type.dtype != DType::kF32) declined = "element type is not f32";
  if (has_empty_operand(request.node)) declined = "empty operand";
  if (!declined.empty()) return nullptr;
  const std::vector<bool> reduced = reduced_dims(request.node);
  ChannelBlocking blocking;
  ResultPlaces places;
  const Layout& own = request.inputs[0];
  if (!own.is_plain() && blocked_blocking(own, reduced, blocking, places)) {
    return std::make_unique<Made>(request, own, blocking, places);
  }
  if (row_major_blocking(type.shape, reduced, blocking)) {
    return std::make_unique<Made>(request, Layout(type), blocking, in_order(blocking));
  }
  declined = "kept and reduced dimensions alternate";
  return nullptr;
}

std::unique_ptr<Kernel> make_reduce(const KernelRequest& request, std::string& declined) {
  const TensorType& type = request.node.input(0)->type();
  if (type.dtype != DType::kF32 && type.dtype != DType::kBF16) declined = "element type is neither f32 nor bf16";
  if (has_empty_operand(request.node)) declined = "empty operand";
  if (!declined.empty()) return nullptr;
  const std::vector<bool> reduced = reduced_dims(request.node);
  const Layout& own = request.inputs[0];
  ChannelBlocking blocking;
  ResultPlaces places;
  if (!own.is_plain() && blocked_blocking(own, reduced, blocking, places)) {
    return std::make_unique<Reduce>(request, own, blocking, places);
  }
  // In a sum of everything the arrangement does not matter, and padding is zero.
  if (!own.is_plain() && request.node.output()->shape().num_elements() == 1 && !own.padded()) {
    const ChannelBlocking all{type.shape.num_elements(), 1, 1, 1};
    return std::make_unique<Reduce>(request, own, all, in_order(all));
  }
  if (!row_major_blocking(type.shape, reduced, blocking)) {
    declined = "kept and reduced dimensions alternate";
    return nullptr;
  }
  return std::make_unique<Reduce>(request, Layout(type), blocking, in_order(blocking));
}

const RegisterKernel kSum(op::kReduceSum, "native", KernelPriority::kNative, make_reduce);
const RegisterKernel kMax(op::kReduceMax, "native", KernelPriority::kNative, make_of_floats<Extreme>);
const RegisterKernel kMin(op::kReduceMin, "native", KernelPriority::kNative, make_of_floats<Extreme>);
const RegisterKernel kProd(op::kReduceProd, "native", KernelPriority::kNative, make_of_floats<Folded>);
const RegisterKernel kL1(op::kReduceL1, "native", KernelPriority::kNative, make_of_floats<Folded>);
const RegisterKernel kL2(op::kReduceL2, "native", KernelPriority::kNative, make_of_floats<Folded>);
const RegisterKernel kLogSumExp(op::kReduceLogSumExp, "native", KernelPriority::kNative, make_of_floats<Folded>);
const RegisterKernel kMean(op::kReduceMean, "native", KernelPriority::kNative, make_reduce);

}  // namespace
}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Several elementwise functions in one pass over memory, in whatever layout it lies.
#include "ops/elementwise_chain.h"

#include <cmath>
#include <optional>

#include "ops/ids.h"
#include "runtime/kernel.h"
#include "runtime/kernels/native/broadcast_runs.h"
#include "runtime/kernels/native/chain_loop.h"
#include "runtime/kernels/native/channel_broadcast.h"

namespace thalweg {
namespace {

/// The most inputs of a chain whose inputs broadcast otherwise than by channel.
constexpr size_t kMostBroadcast = 8;

using Operands = std::vector<ChainLoop::Operand>;

const float* floats(const void* memory) { return static_cast<const float*>(memory); }

/// A kernel whose threads have scratch of their own.
class ChainKernel : public Kernel {
 public:
  ChainKernel(const KernelRequest& request, const char* called)
      : loop_(chain_steps(request.node.attrs()), request.node.inputs().size()) {
    name = called;
    inputs = plain_inputs(request.node);
    outputs = plain_outputs(request.node);
    for (const Value* input : request.node.inputs()) is_one_.push_back(input->shape().num_elements() == 1);
  }

 protected:
  /// Fewer elements than elsewhere are worth waking threads for, as there is more to do with each.
  bool worth_threads(int64_t elements) const { return elements * loop_.num_steps() >= kParallelElements; }
  Operands whole_operands(const KernelArguments& arguments) const {
    Operands operands;
    for (size_t i = 0; i < is_one_.size(); ++i) operands.push_back({floats(arguments.inputs[i]), is_one_[i]});
    return operands;
  }

  ChainLoop loop_;
  std::vector<bool> is_one_;
};

/// All operands lie as the result does, or have one element.
class FlatChain : public ChainKernel {
 public:
  FlatChain(const KernelRequest& request, const Layout& layout) : ChainKernel(request, "native chain") {
    outputs = {layout};
    count_ = static_cast<int64_t>(layout.bytes() / sizeof(float));
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (is_one_[i]) continue;
      inputs[i] = layout;
      in_place.emplace_back(static_cast<int>(i), 0);
    }
    // A part that is done must not overwrite the one element that the others still read.
    scratch_bytes = static_cast<size_t>(request.threads) * loop_.scratch_floats() * sizeof(float);
  }

  void run(const KernelArguments& arguments) const override {
    const int parts = worth_threads(count_) ? arguments.threads : 1;
#pragma omp parallel for num_threads(parts) schedule(static)
    for (int part = 0; part < parts; ++part) {
      const Share share(count_, part, parts);
      Operands operands = whole_operands(arguments);
      for (ChainLoop::Operand& operand : operands) operand.data += operand.one ? 0 : share.begin;
      loop_.run(operands.data(), static_cast<float*>(arguments.outputs[0]) + share.begin, share.end - share.begin,
                static_cast<float*>(arguments.scratch) + static_cast<size_t>(part) * loop_.scratch_floats());
    }
  }

 private:
  int64_t count_ = 0;
};

/// A blocked or channels-last result, and some operands with an element for each channel or position.
class ChannelChain : public ChainKernel {
 public:
  ChannelChain(const KernelRequest& request, const Layout& layout,
               std::vector<std::optional<ChannelBroadcast>> broadcasts)
      : ChainKernel(request, "native chain of channels"), broadcasts_(std::move(broadcasts)) {
    outputs = {layout};
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (is_one_[i]) continue;
      inputs[i] = broadcasts_[i] ? broadcasts_[i]->small_layout() : layout;
      if (!broadcasts_[i]) in_place.emplace_back(static_cast<int>(i), 0);
      if (broadcasts_[i]) first_ = &*broadcasts_[i];
    }
    piece_floats_ = static_cast<size_t>(first_->piece_positions() * first_->blocking().block);
    thread_floats_ = loop_.scratch_floats() + inputs.size() * piece_floats_;
    scratch_bytes = static_cast<size_t>(request.threads) * thread_floats_ * sizeof(float);
  }

  void run(const KernelArguments& arguments) const override {
    const ChannelBlocking& blocking = first_->blocking();
    const int64_t positions = blocking.outer * blocking.blocks * blocking.spatial;
    const int parts = worth_threads(positions * blocking.block) ? arguments.threads : 1;
#pragma omp parallel for num_threads(parts) schedule(static)
    for (int part = 0; part < parts; ++part) {
      const Share share(positions, part, parts);
      run_positions(arguments, share.begin, share.end,
                    static_cast<float*>(arguments.scratch) + static_cast<size_t>(part) * thread_floats_);
    }
  }

 private:
  void run_positions(const KernelArguments& arguments, int64_t begin, int64_t end, float* scratch) const {
    const ChannelBlocking& blocking = first_->blocking();
    const Operands whole = whole_operands(arguments);
    Operands operands = whole;
    int64_t filled_unit = -1;
    for (int64_t at = begin; at < end;) {
      const int64_t unit = at / blocking.spatial;
      const int64_t count = std::min(first_->piece_positions(), std::min(end, (unit + 1) * blocking.spatial) - at);
      for (size_t i = 0; i < operands.size(); ++i) {
        if (operands[i].one) continue;
        if (!broadcasts_[i]) {
          operands[i].data = whole[i].data + at * blocking.block;
          continue;
        }
        float* piece = scratch + loop_.scratch_floats() + i * piece_floats_;
        if (!broadcasts_[i]->same_for_all_positions() || unit != filled_unit) {
          broadcasts_[i]->repeat(whole[i].data, unit, at % blocking.spatial, first_->piece_positions(), piece);
        }
        operands[i].data = piece;
      }
      filled_unit = unit;
      loop_.run(operands.data(), static_cast<float*>(arguments.outputs[0]) + at * blocking.block,
                count * blocking.block, scratch);
      at += count;
    }
  }

  std::vector<std::optional<ChannelBroadcast>> broadcasts_;
  const ChannelBroadcast* first_ = nullptr;
  size_t piece_floats_ = 0, thread_floats_ = 0;
};

/// Row-major operands that broadcast in any way.
class BroadcastChain : public ChainKernel {
 public:
  explicit BroadcastChain(const KernelRequest& request)
      : ChainKernel(request, "native chain broadcast"), runs_(request.node.output()->shape(), shapes(request.node)) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (request.node.input(i)->shape() == request.node.output()->shape())
        in_place.emplace_back(static_cast<int>(i), 0);
    }
  }

  void run(const KernelArguments& arguments) const override {
    runs_.each(arguments.threads, [&](const auto& run) {
      thread_local std::vector<float> scratch;
      if (scratch.size() < loop_.scratch_floats()) scratch.resize(loop_.scratch_floats());
      ChainLoop::Operand operands[kMostBroadcast];
      for (size_t i = 0; i < inputs.size(); ++i) {
        operands[i] = {floats(arguments.inputs[i]) + run.operands[i], runs_.stays(i)};
      }
      loop_.run(operands, static_cast<float*>(arguments.outputs[0]) + run.result, run.count, scratch.data());
    });
  }

 private:
  static std::array<Shape, kMostBroadcast> shapes(const Node& node) {
    std::array<Shape, kMostBroadcast> result;
    for (size_t i = 0; i < kMostBroadcast; ++i) {
      result[i] = i < node.inputs().size() ? node.input(i)->shape() : Shape(std::vector<int64_t>{});
    }
    return result;
  }

  BroadcastRuns<kMostBroadcast> runs_;
};

/// What is known of a value where all inputs but those of one element are zero.
struct AtZero {
  bool zero = false;
  bool finite = false;
  bool one_element = false;
};

AtZero at_zero(const ChainStep& step, const std::vector<AtZero>& values) {
  const AtZero left = values[static_cast<size_t>(step.left)];
  if (step.right < 0) {
    const double value = left.zero ? find_unary(step.function)->value(0.0, step.a, step.b) : 1;
    return {value == 0.0, left.zero && std::isfinite(value), false};
  }
  const AtZero right = values[static_cast<size_t>(step.right)];
  const bool finite = left.finite && right.finite;
  // 0 divided by 0, and what comes of that, is no number, also times 0.
  if (step.function == op::kMul) return {finite && (left.zero || right.zero), finite, false};
  if (step.function == op::kPrelu) return {left.zero && right.finite, finite, false};
  if (step.function == op::kDiv) return {false, finite && right.one_element, false};
  const bool power = step.function == op::kPow;
  return {left.zero && right.zero && !power, finite && !power, false};
}

/// True if zeros where all inputs but those of one element are zero stay zero.
bool keeps_zero(const Node& node) {
  std::vector<AtZero> values;
  for (const Value* input : node.inputs()) {
    const bool one_element = input->shape().num_elements() == 1;
    values.push_back({!one_element, true, one_element});
  }
  for (const ChainStep& step : chain_steps(node.attrs())) values.push_back(at_zero(step, values));
  return values.back().zero;
}

/// The layout to work in: of the operands that have the result's shape the first that is not plain, as some kernel
/// chose it for a reason.
Layout common_layout(const KernelRequest& request) {
  const TensorType& type = request.node.output()->type();
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const Layout& layout = request.inputs[i];
    if (request.node.input(i)->shape() != type.shape || layout.is_plain()) continue;
    if (!layout.padded() || keeps_zero(request.node)) return layout;
  }
  return Layout(type);
}

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& declined) {
  const Node& node = request.node;
  const TensorType& type = node.output()->type();
  if (type.dtype != DType::kF32) declined = "element type is not f32";
  if (has_empty_operand(node)) declined = "an operand has no elements";
  if (!declined.empty()) return nullptr;
  const Layout layout = common_layout(request);
  std::vector<std::optional<ChannelBroadcast>> broadcasts(node.inputs().size());
  bool flat = true, by_channel = true;
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const Shape& shape = node.input(i)->shape();
    if (shape == type.shape || shape.num_elements() == 1) continue;
    flat = false;
    broadcasts[i] = ChannelBroadcast::of(layout, request.inputs[i]);
    by_channel = by_channel && broadcasts[i].has_value();
  }
  if (flat) return std::make_unique<FlatChain>(request, layout);
  if (by_channel) return std::make_unique<ChannelChain>(request, layout, std::move(broadcasts));
  if (node.inputs().size() <= kMostBroadcast) return std::make_unique<BroadcastChain>(request);
  declined = "too many inputs for one that broadcasts";
  return nullptr;
}

const RegisterKernel kChain(op::kElementwiseChain, "native", KernelPriority::kNative, make);

}  // namespace
}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Recurrent layers forward. The product with the input is one large product for all times; the recurrence is cut by
// sequences, so that each thread goes through all times on its own without waiting for the others.
#include <omp.h>

#include <algorithm>

#include "base/flush_denormals.h"
#include "ops/ids.h"
#include "runtime/kernel.h"
#include "runtime/kernels/native/rnn_common.h"
#include "runtime/kernels/onednn/product.h"
#include "runtime/kernels/simd/panel_gemm.h"
#include "runtime/kernels/simd/rnn_cell.h"

namespace thalweg {
namespace {

/// Weights [G, K] as the right side [K, G] of products.
class PackedWeightsKernel : public Kernel {
 public:
  explicit PackedWeightsKernel(const TensorType& weights) : columns_(weights.shape[0]), inner_(weights.shape[1]) {
    name = "native packed weights";
    inputs = {Layout(weights)};
    outputs = {Layout(TensorType{DType::kF32, Shape({simd::packed_size(inner_, columns_)})})};
  }

  void run(const KernelArguments& arguments) const override {
    simd::pack_panels({static_cast<const float*>(arguments.inputs[0]), 1, inner_}, inner_, columns_,
                      static_cast<float*>(arguments.outputs[0]));
  }

 private:
  int64_t columns_, inner_;
};

/// Up to so many rows of the input are multiplied by weights that were packed once.
constexpr int64_t kMostPackedRows = 128;

class RnnKernel : public Kernel {
 public:
  explicit RnnKernel(const KernelRequest& request) : RnnKernel(request.node) {
    const Node& node = request.node;
    packed_hidden_ = derive_packed(node, RnnInput::kWHidden);
    const bool fixed = request.input_is_fixed.size() > RnnInput::kWInput && request.input_is_fixed[RnnInput::kWInput];
    if (fixed && sizes_.batch * sizes_.steps <= kMostPackedRows) packed_input_ = derive_packed(node, RnnInput::kWInput);
  }

  void run(const KernelArguments& arguments) const override {
    const FlushDenormals flush;
    const auto in = [&](int index) { return input(arguments, index); };
    float* bias = at_offset(arguments.scratch, bias_);
    join_biases(in(RnnInput::kBInput), in(RnnInput::kBHidden), bias);
    if (packed_input_ >= 0) {
      multiply_input(arguments, bias);
    } else {
      input_product_.run(in(RnnInput::kX), in(RnnInput::kWInput), bias, output(arguments, RnnOutput::kGates),
                         at_offset(arguments.scratch, product_));
    }
    if (const int64_t parts = unit_parts(arguments.threads); parts > 1) return run_by_units(arguments, parts);
    const int64_t parts = std::min<int64_t>(arguments.threads, sizes_.batch);
#pragma omp parallel for schedule(static, 1) num_threads(parts)
    for (int64_t part = 0; part < parts; ++part) {
      const Share share{sizes_.batch * part / parts, sizes_.batch * (part + 1) / parts, 0, sizes_.hidden};
      start(arguments, share);
      for (int64_t step = 0; step < sizes_.steps; ++step) run_step(arguments, share, step);
      finish(arguments, share);
    }
  }

 private:
  explicit RnnKernel(const Node& node)
      : sizes_(node, node.input(RnnInput::kX)->shape(), node.input(RnnInput::kWHidden)->shape()),
        input_product_({sizes_.batch * sizes_.steps, sizes_.inputs}, {sizes_.gates, sizes_.inputs, true}, true) {
    name = "native rnn";
    inputs = plain_inputs(node);
    outputs = plain_outputs(node);
    ScratchCutter cutter;
    bias_ = cutter.add(sizes_.gates);
    states_ = cutter.add(2 * sizes_.batch * sizes_.hidden);
    cells_ = cutter.add(sizes_.batch * sizes_.hidden);
    sums_ = cutter.add(sizes_.batch * sizes_.gates);
    product_ = cutter.add(static_cast<int64_t>(input_product_.scratch_bytes() / sizeof(float) + 1));
    scratch_bytes = cutter.bytes();
  }

  /// Gives the number of the input that is the packed form of weights.
  int derive_packed(const Node& node, int weights) {
    const TensorType& type = node.input(static_cast<size_t>(weights))->type();
    derived.push_back({weights, std::make_unique<PackedWeightsKernel>(type)});
    unread.push_back(weights);
    return static_cast<int>(node.inputs().size() + derived.size()) - 1;
  }

  /// The input's part of all gates, by rows on all threads if there is enough to do.
  void multiply_input(const KernelArguments& arguments, const float* bias) const {
    constexpr int64_t kWorthwhile = int64_t{1} << 20;
    const int64_t rows = sizes_.batch * sizes_.steps, inner = sizes_.inputs, columns = sizes_.gates;
    const int64_t parts = rows * inner * columns < kWorthwhile ? 1 : std::min<int64_t>(arguments.threads, rows);
#pragma omp parallel for schedule(static, 1) num_threads(parts)
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t begin = rows * part / parts, end = rows * (part + 1) / parts;
      float* gates = output(arguments, RnnOutput::kGates) + begin * columns;
      for (int64_t row = 0; row < end - begin; ++row) std::copy_n(bias, columns, gates + row * columns);
      simd::panel_gemm({input(arguments, RnnInput::kX) + begin * inner, inner, 1}, packed(arguments, packed_input_),
                       end - begin, columns, inner, gates, columns, true);
    }
  }

  /// An input of the node; null if it is absent.
  const float* input(const KernelArguments& arguments, int index) const {
    return static_cast<size_t>(index) < inputs.size() ? packed(arguments, index) : nullptr;
  }
  /// What was derived follows the node's inputs, of which absent ones at the end are not counted.
  static const float* packed(const KernelArguments& arguments, int index) {
    return static_cast<const float*>(arguments.inputs[static_cast<size_t>(index)]);
  }
  static float* output(const KernelArguments& arguments, int index) {
    return static_cast<float*>(arguments.outputs[static_cast<size_t>(index)]);
  }

  /// GRU adds the hidden bias of n inside, where r can reach it.
  void join_biases(const float* from_input, const float* from_hidden, float* bias) const {
    const int64_t joined = sizes_.kind == RnnKind::kGru ? 2 * sizes_.hidden : sizes_.gates;
    for (int64_t i = 0; i < sizes_.gates; ++i) {
      bias[i] = from_input != nullptr ? from_input[i] : 0.0F;
      if (from_hidden != nullptr && i < joined) bias[i] += from_hidden[i];
    }
  }

  /// Sequences and hidden units that one thread computes.
  struct Share {
    int64_t begin = 0, end = 0;
    int64_t first = 0, units = 0;
  };

  /// Into how many parts the units of a single sequence are cut: whole panels of the weights. It pays where a thread's
  /// part, which is read in every step, stays in its cache and the whole would not: threads wait for each other after
  /// each step, which takes longer than a small product.
  int64_t unit_parts(int threads) const {
    constexpr int64_t kWorthwhile = int64_t{1} << 19;
    if (sizes_.batch != 1 || sizes_.hidden % kPanel != 0 || sizes_.hidden * sizes_.gates < kWorthwhile) return 1;
    return std::min<int64_t>(threads, sizes_.hidden / kPanel);
  }

  void run_by_units(const KernelArguments& arguments, int64_t parts) const {
    const int64_t panels = sizes_.hidden / kPanel;
#pragma omp parallel num_threads(parts)
    {
      const int64_t part = omp_get_thread_num(), all = omp_get_num_threads();
      const int64_t first = panels * part / all * kPanel, end = panels * (part + 1) / all * kPanel;
      const Share share{0, 1, first, end - first};
      start(arguments, share);
#pragma omp barrier
      for (int64_t step = 0; step < sizes_.steps; ++step) {
        run_step(arguments, share, step);
#pragma omp barrier
      }
      finish(arguments, share);
    }
  }

  /// The states before a step; those after it are the states before the next.
  float* state_before(const KernelArguments& arguments, int64_t sequence, int64_t step) const {
    return at_offset(arguments.scratch, states_) + (step % 2 * sizes_.batch + sequence) * sizes_.hidden;
  }
  float* cell_of(const KernelArguments& arguments, int64_t sequence) const {
    return at_offset(arguments.scratch, cells_) + sequence * sizes_.hidden;
  }

  void start(const KernelArguments& arguments, const Share& share) const {
    const float* first_h = input(arguments, RnnInput::kH0);
    const float* first_c = input(arguments, RnnInput::kC0);
    const auto fill = [&](const float* from, int64_t sequence, float* to) {
      const int64_t at = sequence * sizes_.hidden + share.first;
      from != nullptr ? (void)std::copy_n(from + at, share.units, to) : (void)std::fill_n(to, share.units, 0.0F);
    };
    for (int64_t s = share.begin; s < share.end; ++s) {
      fill(first_h, s, state_before(arguments, s, 0) + share.first);
      fill(first_c, s, cell_of(arguments, s) + share.first);
    }
  }

  void finish(const KernelArguments& arguments, const Share& share) const {
    for (int64_t s = share.begin; s < share.end; ++s) {
      const int64_t at = s * sizes_.hidden + share.first;
      std::copy_n(state_before(arguments, s, sizes_.steps) + share.first, share.units,
                  output(arguments, RnnOutput::kHN) + at);
      if (sizes_.kind != RnnKind::kLstm) continue;
      std::copy_n(cell_of(arguments, s) + share.first, share.units, output(arguments, RnnOutput::kCN) + at);
    }
  }

  void run_step(const KernelArguments& arguments, const Share& share, int64_t step) const {
    const int64_t hidden = sizes_.hidden, rows = share.end - share.begin;
    const float* h = state_before(arguments, share.begin, step);
    const float* weights = packed(arguments, packed_hidden_);
    float* sums = at_offset(arguments.scratch, sums_) + share.begin * sizes_.gates;
    if (share.units == hidden) {
      simd::panel_gemm({h, hidden, 1}, weights, rows, sizes_.gates, hidden, sums, sizes_.gates, false);
    } else {
      for (int64_t column = share.first; column < sizes_.gates; column += hidden) {
        simd::panel_gemm({h, hidden, 1}, weights + column * hidden, rows, share.units, hidden, sums + column,
                         sizes_.gates, false);
      }
    }
    for (int64_t s = share.begin; s < share.end; ++s) {
      run_cell(arguments, share, s, step, sums + (s - share.begin) * sizes_.gates + share.first);
    }
  }

  void run_cell(const KernelArguments& arguments, const Share& share, int64_t sequence, int64_t step,
                const float* sums) const {
    const int64_t hidden = sizes_.hidden, units = share.units;
    const int64_t row = sizes_.row(sequence, step), at = row * hidden + share.first;
    float* gates = output(arguments, RnnOutput::kGates) + row * sizes_.gates + share.first;
    float* h = state_before(arguments, sequence, step + 1) + share.first;
    float* c = cell_of(arguments, sequence) + share.first;
    if (sizes_.kind == RnnKind::kLstm) {
      simd::lstm_cell(gates, sums, c, h, units, hidden);
      std::copy_n(c, units, output(arguments, RnnOutput::kExtra) + at);
    } else if (sizes_.kind == RnnKind::kGru) {
      const float* bias = input(arguments, RnnInput::kBHidden);
      std::copy_n(state_before(arguments, sequence, step) + share.first, units, h);
      simd::gru_cell(gates, sums, bias == nullptr ? nullptr : bias + 2 * hidden + share.first,
                     output(arguments, RnnOutput::kExtra) + at, h, units, hidden);
    } else {
      simd::rnn_cell(gates, sums, h, units, sizes_.relu);
    }
    std::copy_n(h, units, output(arguments, RnnOutput::kY) + at);
  }

  /// A multiple of the columns of a panel, whatever the instructions.
  static constexpr int64_t kPanel = 64;

  RnnSizes sizes_;
  Product input_product_;
  int packed_hidden_ = -1, packed_input_ = -1;  ///< numbers of inputs
  size_t bias_ = 0, states_ = 0, cells_ = 0, sums_ = 0, product_ = 0;
};

std::unique_ptr<Kernel> make_rnn(const KernelRequest& request, std::string& declined) {
  if (request.node.output()->dtype() != DType::kF32 || has_empty_operand(request.node)) {
    declined = "an operand is empty or not f32";
    return nullptr;
  }
  return std::make_unique<RnnKernel>(request);
}

const RegisterKernel kLstm(op::kLstm, "native", KernelPriority::kNative, make_rnn);
const RegisterKernel kGru(op::kGru, "native", KernelPriority::kNative, make_rnn);
const RegisterKernel kRnn(op::kRnn, "native", KernelPriority::kNative, make_rnn);

}  // namespace
}  // namespace thalweg

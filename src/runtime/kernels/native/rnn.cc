// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Recurrent layers forward. The product with the input is one large product for all times; the recurrence is cut by
// sequences, so that each thread goes through all times on its own without waiting for the others.
#include <algorithm>
#include <cstring>

#include "ops/ids.h"
#include "runtime/kernel.h"
#include "runtime/kernels/native/flush_denormals.h"
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
    const int64_t parts = std::min<int64_t>(arguments.threads, sizes_.batch);
#pragma omp parallel for schedule(static, 1) num_threads(parts)
    for (int64_t part = 0; part < parts; ++part) {
      run_sequences(arguments, sizes_.batch * part / parts, sizes_.batch * (part + 1) / parts);
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
    states_ = cutter.add(sizes_.batch * sizes_.hidden);
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
      simd::panel_gemm({input(arguments, RnnInput::kX) + begin * inner, inner, 1}, input(arguments, packed_input_),
                       end - begin, columns, inner, gates, columns, true);
    }
  }

  static const float* input(const KernelArguments& arguments, int index) {
    const auto at = static_cast<size_t>(index);
    return at < arguments.inputs.size() ? static_cast<const float*>(arguments.inputs[at]) : nullptr;
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

  void run_sequences(const KernelArguments& arguments, int64_t begin, int64_t end) const {
    const int64_t hidden = sizes_.hidden, rows = end - begin;
    const size_t state_bytes = static_cast<size_t>(rows * hidden) * sizeof(float);
    float* h = at_offset(arguments.scratch, states_) + begin * hidden;
    float* c = at_offset(arguments.scratch, cells_) + begin * hidden;
    float* sums = at_offset(arguments.scratch, sums_) + begin * sizes_.gates;
    const float* first_h = input(arguments, RnnInput::kH0);
    const float* first_c = input(arguments, RnnInput::kC0);
    first_h != nullptr ? std::memcpy(h, first_h + begin * hidden, state_bytes) : std::memset(h, 0, state_bytes);
    first_c != nullptr ? std::memcpy(c, first_c + begin * hidden, state_bytes) : std::memset(c, 0, state_bytes);
    for (int64_t step = 0; step < sizes_.steps; ++step) {
      simd::panel_gemm({h, hidden, 1}, input(arguments, packed_hidden_), rows, sizes_.gates, hidden, sums,
                       sizes_.gates, false);
      for (int64_t r = 0; r < rows; ++r) {
        run_cell(arguments, sizes_.row(begin + r, step), sums + r * sizes_.gates, h + r * hidden, c + r * hidden);
      }
    }
    std::memcpy(output(arguments, RnnOutput::kHN) + begin * hidden, h, state_bytes);
    if (sizes_.kind == RnnKind::kLstm) std::memcpy(output(arguments, RnnOutput::kCN) + begin * hidden, c, state_bytes);
  }

  void run_cell(const KernelArguments& arguments, int64_t row, const float* sums, float* h, float* c) const {
    const int64_t hidden = sizes_.hidden;
    const size_t bytes = static_cast<size_t>(hidden) * sizeof(float);
    float* gates = output(arguments, RnnOutput::kGates) + row * sizes_.gates;
    if (sizes_.kind == RnnKind::kLstm) {
      simd::lstm_cell(gates, sums, c, h, hidden);
      std::memcpy(output(arguments, RnnOutput::kExtra) + row * hidden, c, bytes);
    } else if (sizes_.kind == RnnKind::kGru) {
      const float* bias = input(arguments, RnnInput::kBHidden);
      simd::gru_cell(gates, sums, bias == nullptr ? nullptr : bias + 2 * hidden,
                     output(arguments, RnnOutput::kExtra) + row * hidden, h, hidden);
    } else {
      simd::rnn_cell(gates, sums, h, hidden, sizes_.relu);
    }
    std::memcpy(output(arguments, RnnOutput::kY) + row * hidden, h, bytes);
  }

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

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Recurrent layers backward: threads go back through the times of their own sequences and leave the gradients of all
// gates, from which the gradients of input and weights follow as large products over all times at once.
#include <algorithm>
#include <cstring>

#include "base/flush_denormals.h"
#include "ops/ids.h"
#include "runtime/kernel.h"
#include "runtime/kernels/native/rnn_common.h"
#include "runtime/kernels/onednn/product.h"
#include "runtime/kernels/simd/column_sum.h"
#include "runtime/kernels/simd/panel_gemm.h"
#include "runtime/kernels/simd/rnn_cell.h"

namespace thalweg {
namespace {

using In = RnnGradInput;
using Out = RnnGradOutput;

class RnnGradKernel : public Kernel {
 public:
  explicit RnnGradKernel(const Node& node)
      : sizes_(node, node.input(In::kX)->shape(), node.input(In::kWHidden)->shape()),
        wants_data_(node.attrs().flag("data")) {
    name = "native rnn_grad";
    inputs = plain_inputs(node);
    outputs = plain_outputs(node);
    const int64_t rows = sizes_.batch * sizes_.steps;
    if (wants_data_) data_product_ = Product({rows, sizes_.gates}, {sizes_.gates, sizes_.inputs});
    input_product_ = Product({rows, sizes_.gates, true}, {rows, sizes_.inputs});
    hidden_product_ = Product({rows, sizes_.gates, true}, {rows, sizes_.hidden});
    ScratchCutter cutter;
    weights_ = cutter.add(simd::packed_size(sizes_.gates, sizes_.hidden));
    dh_ = cutter.add(sizes_.batch * sizes_.hidden);
    dc_ = cutter.add(sizes_.batch * sizes_.hidden);
    dhid_ = cutter.add(sizes_.batch * sizes_.gates);
    zeros_ = cutter.add(sizes_.hidden);
    all_dgates_ = cutter.add(rows * sizes_.gates);
    all_dhid_ = sizes_.kind == RnnKind::kGru ? cutter.add(rows * sizes_.gates) : all_dgates_;
    before_ = cutter.add(rows * sizes_.hidden);
    const size_t products = std::max({wants_data_ ? data_product_.scratch_bytes() : 0, input_product_.scratch_bytes(),
                                      hidden_product_.scratch_bytes()});
    product_ = cutter.add(static_cast<int64_t>(products / sizeof(float) + 1));
    scratch_bytes = cutter.bytes();
  }

  void run(const KernelArguments& arguments) const override {
    const FlushDenormals flush;
    simd::pack_panels({input(arguments, In::kWHidden), sizes_.hidden, 1}, sizes_.gates, sizes_.hidden,
                      at_offset(arguments.scratch, weights_));
    std::memset(at_offset(arguments.scratch, zeros_), 0, static_cast<size_t>(sizes_.hidden) * sizeof(float));
    const int64_t parts = std::min<int64_t>(arguments.threads, sizes_.batch);
#pragma omp parallel for schedule(static, 1) num_threads(arguments.threads)
    for (int64_t part = 0; part < parts; ++part) {
      run_sequences(arguments, sizes_.batch * part / parts, sizes_.batch * (part + 1) / parts);
    }
    multiply(arguments);
  }

 private:
  static const float* input(const KernelArguments& arguments, int index) {
    const auto at = static_cast<size_t>(index);
    return at < arguments.inputs.size() ? static_cast<const float*>(arguments.inputs[at]) : nullptr;
  }
  static float* output(const KernelArguments& arguments, int index) {
    return static_cast<float*>(arguments.outputs[static_cast<size_t>(index)]);
  }
  size_t state_bytes(int64_t rows) const { return static_cast<size_t>(rows * sizes_.hidden) * sizeof(float); }

  /// The state before a step: that of the step before, or the first one, or zeros.
  const float* before(const KernelArguments& arguments, int64_t sequence, int64_t step, int states, int first) const {
    if (step > 0) return input(arguments, states) + sizes_.row(sequence, step - 1) * sizes_.hidden;
    const float* given = input(arguments, first);
    return given != nullptr ? given + sequence * sizes_.hidden : at_offset(arguments.scratch, zeros_);
  }

  void start(const float* last, float* state, int64_t begin, int64_t rows) const {
    if (last != nullptr) {
      std::memcpy(state, last + begin * sizes_.hidden, state_bytes(rows));
    } else {
      std::memset(state, 0, state_bytes(rows));
    }
  }

  void run_sequences(const KernelArguments& arguments, int64_t begin, int64_t end) const {
    const int64_t hidden = sizes_.hidden, rows = end - begin;
    float* dh = at_offset(arguments.scratch, dh_) + begin * hidden;
    float* dc = at_offset(arguments.scratch, dc_) + begin * hidden;
    float* dhid = at_offset(arguments.scratch, dhid_) + begin * sizes_.gates;
    start(input(arguments, In::kDhN), dh, begin, rows);
    start(input(arguments, In::kDcN), dc, begin, rows);
    for (int64_t step = sizes_.steps; step-- > 0;) {
      for (int64_t r = 0; r < rows; ++r) {
        run_cell(arguments, begin + r, step, dh + r * hidden, dc + r * hidden, dhid + r * sizes_.gates);
      }
      simd::panel_gemm({dhid, sizes_.gates, 1}, at_offset(arguments.scratch, weights_), rows, hidden, sizes_.gates, dh,
                       hidden, sizes_.kind == RnnKind::kGru);
    }
    std::memcpy(output(arguments, Out::kDh0) + begin * hidden, dh, state_bytes(rows));
    if (sizes_.kind == RnnKind::kLstm)
      std::memcpy(output(arguments, Out::kDc0) + begin * hidden, dc, state_bytes(rows));
  }

  void run_cell(const KernelArguments& arguments, int64_t sequence, int64_t step, float* dh, float* dc,
                float* dhid) const {
    const int64_t hidden = sizes_.hidden, row = sizes_.row(sequence, step);
    const float* gates = input(arguments, In::kGates) + row * sizes_.gates;
    const float* dy = input(arguments, In::kDy);
    for (int64_t i = 0; dy != nullptr && i < hidden; ++i) dh[i] += dy[row * hidden + i];
    const float* h_before = before(arguments, sequence, step, In::kY, In::kH0);
    float* all_dgates = at_offset(arguments.scratch, all_dgates_) + row * sizes_.gates;
    const size_t gate_bytes = static_cast<size_t>(sizes_.gates) * sizeof(float);
    if (sizes_.kind == RnnKind::kLstm) {
      simd::lstm_cell_grad(gates, input(arguments, In::kExtra) + row * hidden,
                           before(arguments, sequence, step, In::kExtra, In::kC0), dh, dc, dhid, hidden);
      std::memcpy(all_dgates, dhid, gate_bytes);
    } else if (sizes_.kind == RnnKind::kGru) {
      simd::gru_cell_grad(gates, input(arguments, In::kExtra) + row * hidden, h_before, dh, all_dgates, dhid, hidden);
      std::memcpy(at_offset(arguments.scratch, all_dhid_) + row * sizes_.gates, dhid, gate_bytes);
    } else {
      simd::rnn_cell_grad(gates, dh, dhid, hidden, sizes_.relu);
      std::memcpy(all_dgates, dhid, gate_bytes);
    }
    std::memcpy(at_offset(arguments.scratch, before_) + row * hidden, h_before, state_bytes(1));
  }

  void multiply(const KernelArguments& arguments) const {
    const float* dgates = at_offset(arguments.scratch, all_dgates_);
    const float* dhid = at_offset(arguments.scratch, all_dhid_);
    void* scratch = at_offset(arguments.scratch, product_);
    if (wants_data_) {
      data_product_.run(dgates, input(arguments, In::kWInput), nullptr, output(arguments, Out::kDx), scratch);
    }
    input_product_.run(dgates, input(arguments, In::kX), nullptr, output(arguments, Out::kDwInput), scratch);
    hidden_product_.run(dhid, at_offset(arguments.scratch, before_), nullptr, output(arguments, Out::kDwHidden),
                        scratch);
    sum_columns(arguments, dgates, output(arguments, Out::kDbInput));
    sum_columns(arguments, dhid, output(arguments, Out::kDbHidden));
  }

  void sum_columns(const KernelArguments& arguments, const float* dgates, float* bias) const {
    constexpr int64_t kStrip = 64;
    const int64_t rows = sizes_.batch * sizes_.steps;
#pragma omp parallel for schedule(static) num_threads(arguments.threads)
    for (int64_t c = 0; c < sizes_.gates; c += kStrip) {
      simd::column_sum(dgates + c, rows, std::min(kStrip, sizes_.gates - c), sizes_.gates, bias + c);
    }
  }

  RnnSizes sizes_;
  bool wants_data_;
  Product data_product_, input_product_, hidden_product_;
  size_t weights_ = 0, dh_ = 0, dc_ = 0, dhid_ = 0, zeros_ = 0, all_dgates_ = 0, all_dhid_ = 0, before_ = 0,
         product_ = 0;
};

std::unique_ptr<Kernel> make_rnn_grad(const KernelRequest& request, std::string& declined) {
  if (request.node.output()->dtype() != DType::kF32 || has_empty_operand(request.node)) {
    declined = "an operand is empty or not f32";
    return nullptr;
  }
  return std::make_unique<RnnGradKernel>(request.node);
}

const RegisterKernel kLstm(op::kLstmGrad, "native", KernelPriority::kNative, make_rnn_grad);
const RegisterKernel kGru(op::kGruGrad, "native", KernelPriority::kNative, make_rnn_grad);
const RegisterKernel kRnn(op::kRnnGrad, "native", KernelPriority::kNative, make_rnn_grad);

}  // namespace
}  // namespace thalweg

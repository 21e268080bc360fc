// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>

#include "ops/ids.h"
#include "ops/rnn_operands.h"
#include "runtime/kernels/reference/reference.h"
#include "tensor/dtype.h"

namespace thalweg {
namespace {

using Vector = std::vector<double>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Sizes {
  RnnKind kind;
  int64_t batch, steps, inputs, hidden, gates;
  bool reverse, relu;

  Sizes(const ReferenceCall& call, size_t w_hidden)
      : kind(rnn_kind(call.node.op_name())),
        reverse(call.attrs().flag("reverse")),
        relu(call.attrs().text("activation") == op::kRelu) {
    batch = call.in(0).shape()[0];
    steps = call.in(0).shape()[1];
    inputs = call.in(0).shape()[2];
    hidden = call.in(w_hidden).shape()[1];
    gates = gates_of(kind) * hidden;
  }
  /// The time that is `step`-th in the order of computation.
  int64_t time(int64_t step) const { return reverse ? steps - 1 - step : step; }
};

/// out[i] += sum over j of w[i, j] * x[j].
template <typename T>
void multiply(const T* w, const Vector& x, int64_t rows, Vector& out) {
  const auto columns = static_cast<int64_t>(x.size());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      out[static_cast<size_t>(i)] += static_cast<double>(w[i * columns + j]) * x[static_cast<size_t>(j)];
    }
  }
}

/// out[j] += sum over i of w[i, j] * x[i].
template <typename T>
void multiply_transposed(const T* w, const Vector& x, Vector& out) {
  const size_t columns = out.size();
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = 0; j < columns; ++j) out[j] += static_cast<double>(w[i * columns + j]) * x[i];
  }
}

template <typename T>
void add_outer(const Vector& x, const Vector& y, T* out) {
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = 0; j < y.size(); ++j) out[i * y.size() + j] += static_cast<T>(x[i] * y[j]);
  }
}

template <typename T>
Vector row(const Tensor& tensor, int64_t index, int64_t width) {
  Vector result(static_cast<size_t>(width), 0.0);
  if (!tensor.defined()) return result;
  for (int64_t i = 0; i < width; ++i) {
    result[static_cast<size_t>(i)] = static_cast<double>(tensor.data<T>()[index * width + i]);
  }
  return result;
}

template <typename T>
void set_row(const Tensor& tensor, int64_t index, const Vector& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    tensor.data<T>()[static_cast<size_t>(index) * values.size() + i] = static_cast<T>(values[i]);
  }
}

/// Undefined if absent.
Tensor operand(const ReferenceCall& call, int index) {
  return call.has(static_cast<size_t>(index)) ? call.in(static_cast<size_t>(index)) : Tensor();
}

/// One step of one sequence: `x` and `hid` are the two products with biases; both become what backward needs.
void step_forward(const Sizes& sizes, Vector& x, Vector& hid, Vector& h, Vector& c, Vector& extra) {
  const auto n = static_cast<size_t>(sizes.hidden);
  for (size_t j = 0; j < n; ++j) {
    if (sizes.kind == RnnKind::kLstm) {
      const double i = sigmoid(x[j] + hid[j]), f = sigmoid(x[n + j] + hid[n + j]);
      const double g = std::tanh(x[2 * n + j] + hid[2 * n + j]), o = sigmoid(x[3 * n + j] + hid[3 * n + j]);
      c[j] = f * c[j] + i * g;
      h[j] = o * std::tanh(c[j]);
      x[j] = i, x[n + j] = f, x[2 * n + j] = g, x[3 * n + j] = o;
      extra[j] = c[j];
    } else if (sizes.kind == RnnKind::kGru) {
      const double r = sigmoid(x[j] + hid[j]), z = sigmoid(x[n + j] + hid[n + j]);
      const double inner = hid[2 * n + j], candidate = std::tanh(x[2 * n + j] + r * inner);
      h[j] = (1 - z) * candidate + z * h[j];
      x[j] = r, x[n + j] = z, x[2 * n + j] = candidate;
      extra[j] = inner;
    } else {
      const double sum = x[j] + hid[j];
      h[j] = sizes.relu ? std::fmax(sum, 0.0) : std::tanh(sum);
      x[j] = h[j];
    }
  }
}

template <typename T>
void forward_typed(const ReferenceCall& call) {
  const Sizes sizes(call, RnnInput::kWHidden);
  for (int64_t n = 0; n < sizes.batch; ++n) {
    Vector h = row<T>(operand(call, RnnInput::kH0), n, sizes.hidden),
           c = row<T>(operand(call, RnnInput::kC0), n, sizes.hidden);
    Vector extra(h.size());
    for (int64_t step = 0; step < sizes.steps; ++step) {
      const int64_t at = n * sizes.steps + sizes.time(step);
      Vector x = row<T>(operand(call, RnnInput::kBInput), 0, sizes.gates),
             hid = row<T>(operand(call, RnnInput::kBHidden), 0, sizes.gates);
      multiply(call.in(RnnInput::kWInput).data<T>(), row<T>(call.in(RnnInput::kX), at, sizes.inputs), sizes.gates, x);
      multiply(call.in(RnnInput::kWHidden).data<T>(), h, sizes.gates, hid);
      step_forward(sizes, x, hid, h, c, extra);
      set_row<T>(call.out(RnnOutput::kY), at, h);
      set_row<T>(call.out(RnnOutput::kGates), at, x);
      if (sizes.kind != RnnKind::kPlain) set_row<T>(call.out(RnnOutput::kExtra), at, extra);
    }
    set_row<T>(call.out(RnnOutput::kHN), n, h);
    if (sizes.kind == RnnKind::kLstm) set_row<T>(call.out(RnnOutput::kCN), n, c);
  }
}

/// What one step of backward reads.
struct Saved {
  Vector gates, extra, h_before, c_before;
};

/// From dh and dc after the step to the gradients of both products; dc, and for GRU dh, become those before the step.
void step_backward(const Sizes& sizes, const Saved& s, Vector& dh, Vector& dc, Vector& dx, Vector& dhid) {
  const auto n = static_cast<size_t>(sizes.hidden);
  for (size_t j = 0; j < n; ++j) {
    if (sizes.kind == RnnKind::kLstm) {
      const double i = s.gates[j], f = s.gates[n + j], g = s.gates[2 * n + j], o = s.gates[3 * n + j];
      const double t = std::tanh(s.extra[j]);
      dc[j] += dh[j] * o * (1 - t * t);
      dx[j] = dc[j] * g * i * (1 - i);
      dx[n + j] = dc[j] * s.c_before[j] * f * (1 - f);
      dx[2 * n + j] = dc[j] * i * (1 - g * g);
      dx[3 * n + j] = dh[j] * t * o * (1 - o);
      dc[j] *= f;
      dh[j] = 0;
    } else if (sizes.kind == RnnKind::kGru) {
      const double r = s.gates[j], z = s.gates[n + j], candidate = s.gates[2 * n + j];
      const double dn = dh[j] * (1 - z) * (1 - candidate * candidate);
      dx[j] = dn * s.extra[j] * r * (1 - r);
      dx[n + j] = dh[j] * (s.h_before[j] - candidate) * z * (1 - z);
      dx[2 * n + j] = dn;
      dh[j] *= z;
    } else {
      const double y = s.gates[j];
      dx[j] = sizes.relu ? (y > 0 ? dh[j] : 0.0) : dh[j] * (1 - y * y);
      dh[j] = 0;
    }
  }
  dhid = dx;
  if (sizes.kind != RnnKind::kGru) return;
  for (size_t j = 0; j < n; ++j) dhid[2 * n + j] *= s.gates[j];
}

template <typename T>
void backward_typed(const ReferenceCall& call) {
  using In = RnnGradInput;
  using Out = RnnGradOutput;
  const Sizes sizes(call, In::kWHidden);
  const bool data = call.attrs().flag("data");
  for (Tensor& out : call.outputs) std::memset(out.raw(), 0, out.num_bytes());
  for (int64_t n = 0; n < sizes.batch; ++n) {
    Vector dh = row<T>(operand(call, In::kDhN), n, sizes.hidden), dc = row<T>(operand(call, In::kDcN), n, sizes.hidden);
    for (int64_t step = sizes.steps; step-- > 0;) {
      const int64_t at = n * sizes.steps + sizes.time(step);
      const int64_t before = step > 0 ? n * sizes.steps + sizes.time(step - 1) : -1;
      const bool lstm = sizes.kind == RnnKind::kLstm;
      Saved saved{row<T>(operand(call, In::kGates), at, sizes.gates),
                  row<T>(operand(call, In::kExtra), at, sizes.hidden),
                  before < 0 ? row<T>(operand(call, In::kH0), n, sizes.hidden)
                             : row<T>(operand(call, In::kY), before, sizes.hidden),
                  before < 0 || !lstm ? row<T>(operand(call, In::kC0), n, sizes.hidden)
                                      : row<T>(operand(call, In::kExtra), before, sizes.hidden)};
      const Vector dy = row<T>(operand(call, In::kDy), at, sizes.hidden);
      for (size_t j = 0; j < dh.size(); ++j) dh[j] += dy[j];
      Vector dx(static_cast<size_t>(sizes.gates)), dhid;
      step_backward(sizes, saved, dh, dc, dx, dhid);
      multiply_transposed(call.in(In::kWHidden).data<T>(), dhid, dh);
      add_outer(dx, row<T>(operand(call, In::kX), at, sizes.inputs), call.out(Out::kDwInput).data<T>());
      add_outer(dhid, saved.h_before, call.out(Out::kDwHidden).data<T>());
      add_outer(dx, Vector{1.0}, call.out(Out::kDbInput).data<T>());
      add_outer(dhid, Vector{1.0}, call.out(Out::kDbHidden).data<T>());
      if (!data) continue;
      Vector input(static_cast<size_t>(sizes.inputs));
      multiply_transposed(call.in(In::kWInput).data<T>(), dx, input);
      set_row<T>(call.out(Out::kDx), at, input);
    }
    set_row<T>(call.out(Out::kDh0), n, dh);
    if (sizes.kind == RnnKind::kLstm) set_row<T>(call.out(Out::kDc0), n, dc);
  }
}

void forward(const ReferenceCall& call) {
  dispatch_real(call.out().dtype(), [&](auto tag) { forward_typed<decltype(tag)>(call); });
}

void backward(const ReferenceCall& call) {
  dispatch_real(call.out().dtype(), [&](auto tag) { backward_typed<decltype(tag)>(call); });
}

const RegisterReference kLstm(op::kLstm, forward);
const RegisterReference kGru(op::kGru, forward);
const RegisterReference kRnn(op::kRnn, forward);
const RegisterReference kLstmGrad(op::kLstmGrad, backward);
const RegisterReference kGruGrad(op::kGruGrad, backward);
const RegisterReference kRnnGrad(op::kRnnGrad, backward);

}  // namespace
}  // namespace thalweg

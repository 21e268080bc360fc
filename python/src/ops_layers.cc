// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "ops.h"

namespace thalweg::python {
namespace {

using Integers = std::vector<int64_t>;

void bind_conv_ops(nb::module_& m) {
  const ops::ConvOptions conv;
  def_op(
      m, "conv",
      [](Value* x, Value* weight, Value* bias, Integers strides, Integers pads, Integers dilations, int64_t groups,
         const std::string& name) {
        return ops::conv(x, weight, bias, {std::move(strides), std::move(pads), std::move(dilations), groups, ""},
                         name);
      },
      "x"_a, "weight"_a, "bias"_a.none() = nb::none(), nb::kw_only(), "strides"_a = conv.strides, "pads"_a = conv.pads,
      "dilations"_a = conv.dilations, "groups"_a = conv.groups, "name"_a = "",
      "pads: all begins, then all ends, or one number per dimension for both sides.");
  const ops::ConvTransposeOptions transposed;
  def_op(
      m, "conv_transpose",
      [](Value* x, Value* weight, Value* bias, Integers strides, Integers pads, Integers output_padding,
         Integers dilations, int64_t groups, const std::string& name) {
        return ops::conv_transpose(
            x, weight, bias,
            {std::move(strides), std::move(pads), std::move(output_padding), std::move(dilations), groups}, name);
      },
      "x"_a, "weight"_a, "bias"_a.none() = nb::none(), nb::kw_only(), "strides"_a = transposed.strides,
      "pads"_a = transposed.pads, "output_padding"_a = transposed.output_padding, "dilations"_a = transposed.dilations,
      "groups"_a = transposed.groups, "name"_a = "");
}

void bind_pool_ops(nb::module_& m) {
  const ops::PoolOptions pool;
  def_op(
      m, "max_pool",
      [](Value* x, Integers kernel, Integers strides, Integers pads, Integers dilations, bool ceil_mode) {
        return ops::max_pool(x,
                             {std::move(kernel), std::move(strides), std::move(pads), std::move(dilations), ceil_mode});
      },
      "x"_a, "kernel"_a, nb::kw_only(), "strides"_a = pool.strides, "pads"_a = pool.pads,
      "dilations"_a = pool.dilations, "ceil_mode"_a = pool.ceil_mode);
  def_op(
      m, "avg_pool",
      [](Value* x, Integers kernel, Integers strides, Integers pads, bool ceil_mode, bool count_include_pad) {
        return ops::avg_pool(
            x, {std::move(kernel), std::move(strides), std::move(pads), {}, ceil_mode, count_include_pad});
      },
      "x"_a, "kernel"_a, nb::kw_only(), "strides"_a = pool.strides, "pads"_a = pool.pads,
      "ceil_mode"_a = pool.ceil_mode, "count_include_pad"_a = pool.count_include_pad);
  def_op(m, "adaptive_avg_pool", ops::adaptive_avg_pool, "x"_a, "output_size"_a, "name"_a = "");
  def_op(m, "adaptive_max_pool", ops::adaptive_max_pool, "x"_a, "output_size"_a, "name"_a = "");
  def_op(m, "global_avg_pool", ops::global_avg_pool, "x"_a, "name"_a = "");
  def_op(m, "global_max_pool", ops::global_max_pool, "x"_a, "name"_a = "");
  def_op(m, "lrn", ops::lrn, "x"_a, "size"_a, "alpha"_a, "beta"_a, "bias"_a, "name"_a = "");
  def_op(m, "interpolate", ops::interpolate, "x"_a, "output_size"_a, "mode"_a, "coordinates"_a, "name"_a = "",
         "mode: nearest, linear, cubic; coordinates: half_pixel, align_corners, asymmetric.");
  const ops::GridSampleOptions sampling;
  def_op(
      m, "grid_sample",
      [](Value* x, Value* grid, const std::string& mode, const std::string& padding_mode, bool align_corners,
         const std::string& name) {
        return ops::grid_sample(x, grid, {mode, padding_mode, align_corners}, name);
      },
      "x"_a, "grid"_a, "mode"_a = sampling.mode, "padding_mode"_a = sampling.padding_mode,
      "align_corners"_a = sampling.align_corners, "name"_a = "",
      "mode: linear, nearest; padding_mode: zeros, border, reflection.");
}

void bind_products(nb::module_& m) {
  def_op(m, "matmul", ops::matmul, "a"_a, "b"_a, "transpose_a"_a = false, "transpose_b"_a = false, "name"_a = "");
  def_op(
      m, "linear",
      [](Value* x, Value* weight, Value* bias, const std::string& name) {
        return ops::linear(x, weight, bias, "", name);
      },
      "x"_a, "weight"_a, "bias"_a.none() = nb::none(), "name"_a = "");
  def_op(
      m, "attention",
      [](Value* q, Value* k, Value* v, Value* mask, std::optional<double> scale, bool causal) {
        return ops::attention(q, k, v, mask, scale.value_or(0.0), causal);
      },
      "q"_a, "k"_a, "v"_a, "mask"_a.none() = nb::none(), "scale"_a = nb::none(), "causal"_a = false,
      "softmax(q k^T * scale + mask) v for [B, H, T, D]; scale None: 1/sqrt(D).");
  def_op(
      m, "attention_by_time",
      [](Value* q, Value* k, Value* v, Value* mask, std::optional<double> scale, bool causal) {
        return ops::attention_by_time(q, k, v, mask, scale.value_or(0.0), causal);
      },
      "q"_a, "k"_a, "v"_a, "mask"_a.none() = nb::none(), "scale"_a = nb::none(), "causal"_a = false,
      "As attention, for [B, T, H, D].");
  def_op(
      m, "self_attention",
      [](Value* qkv, int64_t heads, Value* mask, std::optional<double> scale, bool causal) {
        return ops::self_attention(qkv, heads, mask, scale.value_or(0.0), causal);
      },
      "qkv"_a, "heads"_a, "mask"_a.none() = nb::none(), "scale"_a = nb::none(), "causal"_a = false,
      "As attention, for q, k and v side by side in [B, T, 3 * H * D]; gives [B, T, H * D].");
}

void bind_normalisation(nb::module_& m) {
  def_op(
      m, "batch_norm",
      [](Value* x, Value* scale, Value* shift, double epsilon, const std::string& name) {
        const ops::BatchNormOutputs result = ops::batch_norm(x, scale, shift, nullptr, epsilon, "", name);
        return std::make_tuple(result.y, result.mean, result.variance);
      },
      "x"_a, "scale"_a, "shift"_a, "epsilon"_a, "name"_a = "",
      "By the statistics of the batch, which follow the result: mean, and the biased variance.");
  def_op(m, "batch_norm_inference", ops::batch_norm_inference, "x"_a, "scale"_a, "shift"_a, "mean"_a, "variance"_a,
         "epsilon"_a, "name"_a = "");
  def_op(m, "layer_norm", ops::layer_norm, "x"_a, "scale"_a.none(), "shift"_a.none(), "axis"_a, "epsilon"_a,
         "name"_a = "");
  def_op(m, "group_norm", ops::group_norm, "x"_a, "scale"_a.none(), "shift"_a.none(), "groups"_a, "epsilon"_a,
         "name"_a = "");
  def_op(m, "softmax", ops::softmax, "x"_a, "axis"_a, "name"_a = "");
  def_op(m, "log_softmax", ops::log_softmax, "x"_a, "axis"_a, "name"_a = "");
  def_op(
      m, "softmax_cross_entropy",
      [](Value* logits, Value* labels, std::optional<int64_t> ignore_index, double label_smoothing) {
        return ignore_index ? ops::softmax_cross_entropy(logits, labels, *ignore_index, label_smoothing)
                            : ops::softmax_cross_entropy(logits, labels);
      },
      "logits"_a, "labels"_a, "ignore_index"_a = nb::none(), "label_smoothing"_a = 0.0,
      "A loss for each label, of logits [N, C, ...]; thalweg.losses.cross_entropy is their mean.");
  def_op(m, "dropout", ops::dropout, "x"_a, "probability"_a, "seed"_a, "name"_a = "", "In training only.");
  def_op(m, "gaussian_noise", ops::gaussian_noise, "x"_a, "deviation"_a, "seed"_a, "name"_a = "", "In training only.");
}

ops::RnnWeights rnn_weights(Value* w_input, Value* w_hidden, Value* b_input, Value* b_hidden) {
  return {w_input, w_hidden, b_input, b_hidden};
}

void bind_recurrent(nb::module_& m) {
  def_op(
      m, "lstm",
      [](Value* x, Value* w_input, Value* w_hidden, Value* b_input, Value* b_hidden, Value* h_0, Value* c_0,
         bool reverse, const std::string& name) {
        const ops::RnnOutputs result =
            ops::lstm(x, rnn_weights(w_input, w_hidden, b_input, b_hidden), h_0, c_0, reverse, name);
        return std::make_tuple(result.y, result.h_n, result.c_n);
      },
      "x"_a, "w_input"_a, "w_hidden"_a, "b_input"_a.none() = nb::none(), "b_hidden"_a.none() = nb::none(),
      "h_0"_a.none() = nb::none(), "c_0"_a.none() = nb::none(), "reverse"_a = false, "name"_a = "",
      "One layer in one direction over [N, T, I]; gates i, f, g, o. Gives y, h_n, c_n.");
  def_op(
      m, "gru",
      [](Value* x, Value* w_input, Value* w_hidden, Value* b_input, Value* b_hidden, Value* h_0, bool reverse,
         const std::string& name) {
        const ops::RnnOutputs result =
            ops::gru(x, rnn_weights(w_input, w_hidden, b_input, b_hidden), h_0, reverse, name);
        return std::make_tuple(result.y, result.h_n);
      },
      "x"_a, "w_input"_a, "w_hidden"_a, "b_input"_a.none() = nb::none(), "b_hidden"_a.none() = nb::none(),
      "h_0"_a.none() = nb::none(), "reverse"_a = false, "name"_a = "", "Gates r, z, n. Gives y, h_n.");
  def_op(
      m, "rnn",
      [](Value* x, Value* w_input, Value* w_hidden, Value* b_input, Value* b_hidden, Value* h_0,
         const std::string& activation, bool reverse, const std::string& name) {
        const ops::RnnOutputs result =
            ops::rnn(x, rnn_weights(w_input, w_hidden, b_input, b_hidden), h_0, activation, reverse, name);
        return std::make_tuple(result.y, result.h_n);
      },
      "x"_a, "w_input"_a, "w_hidden"_a, "b_input"_a.none(), "b_hidden"_a.none(), "h_0"_a.none(), "activation"_a,
      "reverse"_a = false, "name"_a = "", "activation: tanh or relu. Gives y, h_n.");
  def_op(
      m, "conv_lstm_cell",
      [](Value* x, Value* h, Value* c, Value* weight, Value* bias, const std::string& name) {
        const ops::ConvLstmState next = ops::conv_lstm_cell(x, {h, c}, weight, bias, name);
        return std::make_pair(next.h, next.c);
      },
      "x"_a, "h"_a, "c"_a, "weight"_a, "bias"_a.none() = nb::none(), "name"_a = "",
      "One step; weight [4 * H, C + H, k, k], gates i, f, g, o. Gives h, c.");
}

}  // namespace

void bind_layer_ops(nb::module_& ops) {
  bind_conv_ops(ops);
  bind_pool_ops(ops);
  bind_products(ops);
  bind_normalisation(ops);
  bind_recurrent(ops);
}

}  // namespace thalweg::python

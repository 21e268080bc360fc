// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "modules.h"
#include "thalweg/nn.h"

namespace thalweg::python {
namespace {

constexpr auto kReference = nb::rv_policy::reference;

template <typename Layer>
Layer make_recurrent(int64_t input_size, int64_t hidden_size, int64_t num_layers, bool bias, bool batch_first,
                     double dropout, bool bidirectional, std::string nonlinearity) {
  return Layer(input_size, hidden_size,
               {num_layers, bias, batch_first, dropout, bidirectional, std::move(nonlinearity)});
}

/// LSTM or GRU; a plain RNN has another argument.
template <typename Layer>
auto def_recurrent(nb::module_& m, const char* name) {
  const nn::RnnOptions usual;
  return def_layer_class(
      m, name,
      [](int64_t input_size, int64_t hidden_size, int64_t num_layers, bool bias, bool batch_first, double dropout,
         bool bidirectional) {
        return make_recurrent<Layer>(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
                                     nn::RnnOptions{}.nonlinearity);
      },
      "input_size"_a, "hidden_size"_a, "num_layers"_a = usual.num_layers, "bias"_a = usual.bias,
      "batch_first"_a = usual.batch_first, "dropout"_a = usual.dropout, "bidirectional"_a = usual.bidirectional);
}

void def_lstm(nb::module_& m) {
  auto lstm = def_recurrent<nn::LSTM>(m, "LSTM");
  using Lstm = decltype(lstm)::Type;
  lstm.def(
      "forward",
      [](const Lstm& self, Value* input, std::optional<std::pair<Value*, Value*>> hx) {
        const nn::RnnState initial = hx ? nn::RnnState{hx->first, hx->second} : nn::RnnState{};
        const nn::RnnResult result = self.layer.run(self.scope(), input, initial);
        return std::make_pair(result.y, std::make_pair(result.last.h, result.last.c));
      },
      "input"_a, "hx"_a = nb::none(), kReference, nb::call_policy<KeepGraph>(), "Gives output, (h_n, c_n).");
}

template <typename Type>
void def_hidden_forward(Type& type) {
  using Bound = typename Type::Type;
  type.def(
      "forward",
      [](const Bound& self, Value* input, Value* hx) {
        const nn::RnnResult result = self.layer.run(self.scope(), input, {hx, nullptr});
        return std::make_pair(result.y, result.last.h);
      },
      "input"_a, "hx"_a.none() = nb::none(), kReference, nb::call_policy<KeepGraph>(), "Gives output, h_n.");
}

void def_rnn(nb::module_& m) {
  const nn::RnnOptions usual;
  auto rnn = def_layer_class(
      m, "RNN",
      [](int64_t input_size, int64_t hidden_size, int64_t num_layers, std::string nonlinearity, bool bias,
         bool batch_first, double dropout, bool bidirectional) {
        return make_recurrent<nn::RNN>(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
                                       std::move(nonlinearity));
      },
      "input_size"_a, "hidden_size"_a, "num_layers"_a = usual.num_layers, "nonlinearity"_a = usual.nonlinearity,
      "bias"_a = usual.bias, "batch_first"_a = usual.batch_first, "dropout"_a = usual.dropout,
      "bidirectional"_a = usual.bidirectional);
  def_hidden_forward(rnn);
}

void def_conv_lstm(nb::module_& m) {
  def_layer(
      m, "ConvLSTM",
      [](int64_t in_channels, int64_t hidden_channels, int64_t kernel_size) {
        return nn::ConvLSTM(in_channels, hidden_channels, kernel_size);
      },
      "in_channels"_a, "hidden_channels"_a, "kernel_size"_a);
}

void def_attention(nb::module_& m) {
  const nn::AttentionOptions usual;
  auto attention = def_layer_class(
      m, "MultiheadAttention",
      [](int64_t embed_dim, int64_t num_heads, double dropout, bool bias, bool batch_first) {
        return nn::MultiheadAttention(embed_dim, num_heads, {dropout, bias, batch_first});
      },
      "embed_dim"_a, "num_heads"_a, "dropout"_a = usual.dropout, "bias"_a = usual.bias,
      "batch_first"_a = usual.batch_first);
  using Attention = decltype(attention)::Type;
  attention.def(
      "forward",
      [](const Attention& self, Value* query, Value* key, Value* value, Value* attn_mask, bool is_causal) {
        return std::make_pair(self.layer.run(self.scope(), query, key, value, attn_mask, is_causal), nb::none());
      },
      "query"_a, "key"_a, "value"_a, "attn_mask"_a.none() = nb::none(), "is_causal"_a = false, kReference,
      nb::call_policy<KeepGraph>(),
      "Gives the output and None, as PyTorch's with need_weights=False. The mask is added to the scores.");
}

template <typename Type>
void def_masked_forward(Type& type) {
  using Bound = typename Type::Type;
  type.def(
      "forward", [](const Bound& self, Value* src, Value* mask) { return self.layer.run(self.scope(), src, mask); },
      "src"_a, "mask"_a.none() = nb::none(), kReference, nb::call_policy<KeepGraph>());
}

void def_transformer(nb::module_& m) {
  const nn::TransformerLayerOptions usual;
  auto layer = def_layer_class(
      m, "TransformerEncoderLayer",
      [](int64_t d_model, int64_t nhead, int64_t dim_feedforward, double dropout, std::string activation,
         double layer_norm_eps, bool batch_first, bool norm_first) {
        return nn::TransformerEncoderLayer(
            d_model, nhead, {dim_feedforward, dropout, std::move(activation), layer_norm_eps, batch_first, norm_first});
      },
      "d_model"_a, "nhead"_a, "dim_feedforward"_a = usual.dim_feedforward, "dropout"_a = usual.dropout,
      "activation"_a = usual.activation, "layer_norm_eps"_a = usual.layer_norm_eps, "batch_first"_a = usual.batch_first,
      "norm_first"_a = usual.norm_first);
  def_masked_forward(layer);
}

/// What thalweg.nn.TimeDistributed does: `module` says where in the graph it is, `body` is called with values.
Value* distribute_over_time(const Module& module, const nb::callable& body, Value* x) {
  const auto call = [&](Value* steps) {
    nb::object value = nb::cast(steps, kReference);
    keep_graph_alive(value);
    return nb::cast<Value*>(body(value));
  };
  return nn::TimeDistributed(nn::Lambda(call)).forward(module.scope(), x);
}

}  // namespace

void bind_sequence_layers(nb::module_& nn) {
  def_lstm(nn);
  auto gru = def_recurrent<nn::GRU>(nn, "GRU");
  def_hidden_forward(gru);
  def_rnn(nn);
  def_conv_lstm(nn);
  def_attention(nn);
  def_transformer(nn);
  nn.def("_time_distributed", distribute_over_time, "module"_a, "body"_a, "x"_a, kReference,
         nb::call_policy<KeepGraph>());
}

}  // namespace thalweg::python

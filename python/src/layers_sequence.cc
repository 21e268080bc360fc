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
auto def_recurrent(nb::module_& m, const char* name, const char* doc) {
  const nn::RnnOptions usual;
  return def_layer_class(
      m, name, doc,
      [](int64_t input_size, int64_t hidden_size, int64_t num_layers, bool bias, bool batch_first, double dropout,
         bool bidirectional) {
        return make_recurrent<Layer>(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
                                     nn::RnnOptions{}.nonlinearity);
      },
      "input_size"_a, "hidden_size"_a, "num_layers"_a = usual.num_layers, "bias"_a = usual.bias,
      "batch_first"_a = usual.batch_first, "dropout"_a = usual.dropout, "bidirectional"_a = usual.bidirectional);
}

void def_lstm(nb::module_& m) {
  auto lstm = def_recurrent<nn::LSTM>(
      m, "LSTM", R"(Long short-term memory over [T, N, input_size], or [N, T, input_size] with batch_first.

>>> import thalweg
>>> from thalweg import nn
>>> class Last(nn.Module):
...     def __init__(self):
...         super().__init__()
...         self.lstm = nn.LSTM(8, 16, batch_first=True)
...
...     def forward(self, x):
...         output, (h, c) = self.lstm(x)
...         return output[:, -1]
>>> thalweg.Model(Last(), [thalweg.Input((None, 20, 8))]).graph.outputs[0].shape
(None, 16))");
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
      m, "RNN", "The plain recurrent layer over [T, N, input_size], or [N, T, input_size] with batch_first.",
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
      m, "ConvLSTM", "An LSTM whose products are convolutions, over [N, T, C, H, W] (Shi et al., 2015).",
      [](int64_t in_channels, int64_t hidden_channels, int64_t kernel_size) {
        return nn::ConvLSTM(in_channels, hidden_channels, kernel_size);
      },
      "in_channels"_a, "hidden_channels"_a, "kernel_size"_a);
}

void def_attention(nb::module_& m) {
  const nn::AttentionOptions usual;
  auto attention = def_layer_class(
      m, "MultiheadAttention", R"(Attention of several heads, over [T, N, E] or, with batch_first, [N, T, E].

>>> import thalweg
>>> from thalweg import nn
>>> class Attend(nn.Module):
...     def __init__(self):
...         super().__init__()
...         self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
...
...     def forward(self, x, padding):
...         return self.attention(x, x, x, key_padding_mask=padding)[0]
>>> inputs = [thalweg.Input((None, 10, 16)), thalweg.Input((None, 10), "bool")]
>>> thalweg.Model(Attend(), inputs).graph.outputs[0].shape
(None, 10, 16))",
      [](int64_t embed_dim, int64_t num_heads, double dropout, bool bias, bool batch_first) {
        return nn::MultiheadAttention(embed_dim, num_heads, {dropout, bias, batch_first});
      },
      "embed_dim"_a, "num_heads"_a, "dropout"_a = usual.dropout, "bias"_a = usual.bias,
      "batch_first"_a = usual.batch_first);
  using Attention = decltype(attention)::Type;
  attention.def(
      "forward",
      [](const Attention& self, Value* query, Value* key, Value* value, Value* attn_mask, bool is_causal,
         Value* key_padding_mask) {
        return std::make_pair(self.layer.run(self.scope(), query, key, value, attn_mask, is_causal, key_padding_mask),
                              nb::none());
      },
      "query"_a, "key"_a, "value"_a, "attn_mask"_a.none() = nb::none(), "is_causal"_a = false,
      "key_padding_mask"_a.none() = nb::none(), kReference, nb::call_policy<KeepGraph>(),
      "Gives the output and None, as PyTorch's with need_weights=False. Masks are added to the scores, or, if they are "
      "bool, say where not to look; that of keys is [N, S].");
}

template <typename Type>
void def_masked_forward(Type& type) {
  using Bound = typename Type::Type;
  type.def(
      "forward",
      [](const Bound& self, Value* src, Value* mask, Value* src_key_padding_mask) {
        return self.layer.run(self.scope(), src, mask, src_key_padding_mask);
      },
      "src"_a, "mask"_a.none() = nb::none(), "src_key_padding_mask"_a.none() = nb::none(), kReference,
      nb::call_policy<KeepGraph>());
}

void def_transformer(nb::module_& m) {
  const nn::TransformerLayerOptions usual;
  auto layer = def_layer_class(
      m, "TransformerEncoderLayer",
      "Self-attention and two linear layers, each with a sum around it and a LayerNorm (Vaswani et al., 2017).",
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
  auto gru = def_recurrent<nn::GRU>(
      nn, "GRU", "Gated recurrent units over [T, N, input_size], or [N, T, input_size] with batch_first.");
  def_hidden_forward(gru);
  def_rnn(nn);
  def_conv_lstm(nn);
  def_attention(nn);
  def_transformer(nn);
  nn.def("_time_distributed", distribute_over_time, "module"_a, "body"_a, "x"_a, kReference,
         nb::call_policy<KeepGraph>());
}

}  // namespace thalweg::python

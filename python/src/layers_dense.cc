// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "modules.h"
#include "thalweg/nn.h"

namespace thalweg::python {
namespace {

void def_linear(nb::module_& m) {
  def_layer(
      m, "Linear", R"(x @ weight.T + bias, of the last dimension.

>>> import thalweg
>>> model = thalweg.Model(thalweg.nn.Linear(4, 3), [thalweg.Input((None, 4))])
>>> model.graph.outputs[0].shape
(None, 3))",
      [](int64_t in_features, int64_t out_features, bool bias) {
        return nn::Linear(in_features, out_features, {.bias = bias});
      },
      "in_features"_a, "out_features"_a, "bias"_a = nn::LinearOptions{}.bias);
  auto bilinear = def_layer_class(
      m, "Bilinear", "x1 @ weight @ x2 + bias, of two inputs.",
      [](int64_t in1_features, int64_t in2_features, int64_t out_features, bool bias) {
        return nn::Bilinear(in1_features, in2_features, out_features, bias);
      },
      "in1_features"_a, "in2_features"_a, "out_features"_a, "bias"_a = true);
  using Bilinear = decltype(bilinear)::Type;
  bilinear.def(
      "forward",
      [](const Bilinear& self, Value* input1, Value* input2) {
        return self.layer.forward(self.scope(), input1, input2);
      },
      "input1"_a, "input2"_a, nb::rv_policy::reference, nb::call_policy<KeepGraph>());
  const nn::EmbeddingOptions usual;
  def_layer(
      m, "Embedding", R"(Looks up a row of a table for each whole number.

>>> import thalweg
>>> words = thalweg.Model(thalweg.nn.Embedding(1000, 32), [thalweg.Input((None, 20), "int64")])
>>> words.graph.outputs[0].shape
(None, 20, 32))",
      [](int64_t num_embeddings, int64_t embedding_dim, std::optional<int64_t> padding_idx, bool sparse) {
        return nn::Embedding(num_embeddings, embedding_dim, {.padding_idx = padding_idx, .sparse = sparse});
      },
      "num_embeddings"_a, "embedding_dim"_a, "padding_idx"_a = nb::none(), "sparse"_a = usual.sparse);
  def_layer(
      m, "Highway", "t * activation(linear(x)) + (1 - t) * x, where t is learned too (Srivastava et al., 2015).",
      [](int64_t features, std::optional<std::string> activation) {
        return activation ? nn::Highway(features, *activation) : nn::Highway(features);
      },
      "features"_a, "activation"_a = nb::none());
  def_layer(
      m, "Maxout", "The greatest of `pieces` linear layers, element by element (Goodfellow et al., 2013).",
      [](int64_t in_features, int64_t out_features, int64_t pieces) {
        return nn::Maxout(in_features, out_features, pieces);
      },
      "in_features"_a, "out_features"_a, "pieces"_a);
}

void def_reshape(nb::module_& m) {
  def_layer(
      m, "Flatten", R"(Makes one dimension of those from start_dim to end_dim.

>>> import thalweg
>>> net = thalweg.nn.Flatten(1, 2)
>>> thalweg.Model(net, [thalweg.Input((None, 3, 4, 5))]).graph.outputs[0].shape
(None, 12, 5))",
      [](int64_t start_dim, int64_t end_dim) {
        return nn::Flatten{start_dim, end_dim};
      },
      "start_dim"_a = nn::Flatten{}.start_dim, "end_dim"_a = nn::Flatten{}.end_dim);
  def_layer(
      m, "Reshape", "Another shape; 0 keeps the dimension at its place, -1 takes what is left.",
      [](std::vector<int64_t> shape) { return nn::Reshape{std::move(shape)}; }, "shape"_a);
  def_layer(
      m, "Permute", "The dimensions in another order.",
      [](std::vector<int64_t> dims) { return nn::Permute{std::move(dims)}; }, "dims"_a);
}

template <typename Layer>
void def_batch_norm(nb::module_& m, const char* name, const char* of) {
  const nn::BatchNormOptions usual;
  const std::string doc = std::string("Mean 0 and variance 1 of each channel over the batch in training, by running ") +
                          "statistics at inference: of " + of + ".";
  def_layer(
      m, name, doc.c_str(),
      [](int64_t num_features, double eps, double momentum, bool affine, bool track_running_stats) {
        if (!track_running_stats) raise_input_error("normalisation over a batch always keeps running statistics");
        return Layer(num_features, {eps, momentum, affine});
      },
      "num_features"_a, "eps"_a = usual.eps, "momentum"_a = usual.momentum, "affine"_a = usual.affine,
      "track_running_stats"_a = true);
}

/// kRank only tells the classes apart: the layer takes any number of spatial dimensions.
template <int kRank>
void def_instance_norm(nb::module_& m) {
  const nn::InstanceNormOptions usual;
  def_layer(
      m, ("InstanceNorm" + std::to_string(kRank) + "d").c_str(),
      "Mean 0 and variance 1 of each channel of each sample.",
      [](int64_t num_features, double eps, bool affine) {
        return nn::InstanceNorm(num_features, {eps, affine});
      },
      "num_features"_a, "eps"_a = usual.eps, nb::kw_only(), "affine"_a = usual.affine);
}

void def_norms(nb::module_& m) {
  def_batch_norm<nn::BatchNorm1d>(m, "BatchNorm1d", "[N, C] or [N, C, L]");
  def_batch_norm<nn::BatchNorm2d>(m, "BatchNorm2d", "[N, C, H, W]");
  def_batch_norm<nn::BatchNorm3d>(m, "BatchNorm3d", "[N, C, D, H, W]");
  def_instance_norm<1>(m);
  def_instance_norm<2>(m);
  def_instance_norm<3>(m);
  const nn::LayerNormOptions layer;
  def_layer(
      m, "LayerNorm", "Mean 0 and variance 1 over the last dimensions, then scale and shift that are learned.",
      [](nn::Size normalized_shape, double eps, bool elementwise_affine, bool bias) {
        return nn::LayerNorm(Shape(normalized_shape.values()), {eps, elementwise_affine, bias});
      },
      "normalized_shape"_a, "eps"_a = layer.eps, "elementwise_affine"_a = layer.elementwise_affine,
      "bias"_a = layer.bias);
  const nn::GroupNormOptions group;
  def_layer(
      m, "GroupNorm", "Mean 0 and variance 1 over groups of channels of each sample.",
      [](int64_t num_groups, int64_t num_channels, double eps, bool affine) {
        return nn::GroupNorm(num_groups, num_channels, {eps, affine});
      },
      "num_groups"_a, "num_channels"_a, "eps"_a = group.eps, "affine"_a = group.affine);
  def_layer(
      m, "LocalResponseNorm", "Divides by a mean over neighbouring channels (Krizhevsky et al., 2012).",
      [](int64_t size, double alpha, double beta, double k) { return nn::LocalResponseNorm(size, alpha, beta, k); },
      "size"_a, "alpha"_a = nn::LocalResponseNorm::kAlpha, "beta"_a = nn::LocalResponseNorm::kBeta,
      "k"_a = nn::LocalResponseNorm::kOffset);
}

/// Layers whose one number has its usual value in the engine's constructor: nothing is passed on if nothing is given.
template <typename Layer, int kRank = 0>
void def_with_probability(nb::module_& m, const char* name, const char* doc) {
  def_layer(
      m, name, doc, [](std::optional<double> p, bool) { return p.has_value() ? Layer(*p) : Layer(); },
      "p"_a = nb::none(), "inplace"_a = false);
}

void def_dropouts(nb::module_& m) {
  def_with_probability<nn::Dropout>(m, "Dropout",
                                    "In training, 0 with probability p and x / (1 - p) else; x at inference.");
  def_with_probability<nn::SpatialDropout, 1>(m, "Dropout1d", "Dropout of whole channels of [N, C, L].");
  def_with_probability<nn::SpatialDropout, 2>(m, "Dropout2d", "Dropout of whole channels of [N, C, H, W].");
  def_with_probability<nn::SpatialDropout, 3>(m, "Dropout3d", "Dropout of whole channels of [N, C, D, H, W].");
  def_with_probability<nn::AlphaDropout>(m, "AlphaDropout", "Dropout that keeps mean and variance, for SELU.");
  def_with_probability<nn::GaussianDropout>(m, "GaussianDropout", "Multiplies by noise of mean 1 in training.");
  def_layer(
      m, "GaussianNoise", "Adds normal noise in training; nothing at inference.",
      [](double deviation) { return nn::GaussianNoise(deviation); }, "deviation"_a);
}

}  // namespace

void bind_dense_layers(nb::module_& nn) {
  def_linear(nn);
  def_reshape(nn);
  def_norms(nn);
  def_dropouts(nn);
}

}  // namespace thalweg::python

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "modules.h"
#include "thalweg/nn.h"

namespace thalweg::python {
namespace {

template <typename Layer>
void def_plain(nb::module_& nn, const char* name) {
  def_layer(nn, name, []() { return Layer{}; });
}

template <typename Layer, typename Number = double>
void def_one(nb::module_& nn, const char* name, const char* argument, Number usual) {
  def_layer(
      nn, name, [](Number number) { return Layer{number}; }, nb::arg(argument) = usual);
}

/// PyTorch's ReLU and others change their input in place if asked to; in a graph that has no meaning.
template <typename Layer>
void def_inplace(nb::module_& nn, const char* name) {
  def_layer(
      nn, name, [](bool) { return Layer{}; }, "inplace"_a = false);
}

}  // namespace

void bind_activations(nb::module_& m) {
  def_plain<nn::Identity>(m, "Identity");
  def_inplace<nn::ReLU>(m, "ReLU");
  def_inplace<nn::ReLU6>(m, "ReLU6");
  def_inplace<nn::SELU>(m, "SELU");
  def_inplace<nn::SiLU>(m, "SiLU");
  def_inplace<nn::Mish>(m, "Mish");
  def_inplace<nn::Hardsigmoid>(m, "Hardsigmoid");
  def_inplace<nn::Hardswish>(m, "Hardswish");
  def_plain<nn::Sigmoid>(m, "Sigmoid");
  def_plain<nn::LogSigmoid>(m, "LogSigmoid");
  def_plain<nn::Tanh>(m, "Tanh");
  def_plain<nn::Softsign>(m, "Softsign");
  def_plain<nn::Tanhshrink>(m, "Tanhshrink");
  def_one<nn::LeakyReLU>(m, "LeakyReLU", "negative_slope", nn::LeakyReLU{}.negative_slope);
  def_one<nn::ELU>(m, "ELU", "alpha", nn::ELU{}.alpha);
  def_one<nn::CELU>(m, "CELU", "alpha", nn::CELU{}.alpha);
  def_one<nn::Softplus>(m, "Softplus", "beta", nn::Softplus{}.beta);
  def_one<nn::Hardshrink>(m, "Hardshrink", "lambd", nn::Hardshrink{}.lambda);
  def_one<nn::Softshrink>(m, "Softshrink", "lambd", nn::Softshrink{}.lambda);
  def_one<nn::GELU, std::string>(m, "GELU", "approximate", nn::GELU{}.approximate);
  def_one<nn::Softmax, int64_t>(m, "Softmax", "dim", nn::Softmax{}.dim);
  def_one<nn::LogSoftmax, int64_t>(m, "LogSoftmax", "dim", nn::LogSoftmax{}.dim);
  def_one<nn::Softmin, int64_t>(m, "Softmin", "dim", nn::Softmin{}.dim);
  def_one<nn::GLU, int64_t>(m, "GLU", "dim", nn::GLU{}.dim);
  def_layer(
      m, "PReLU",
      [](int64_t num_parameters, double init) {
        return nn::PReLU{num_parameters, init};
      },
      "num_parameters"_a = nn::PReLU{}.num_parameters, "init"_a = nn::PReLU{}.init);
  def_layer(
      m, "RReLU",
      [](double lower, double upper) {
        return nn::RReLU{lower, upper};
      },
      "lower"_a = nn::RReLU{}.lower, "upper"_a = nn::RReLU{}.upper);
  def_layer(
      m, "Hardtanh",
      [](double min_val, double max_val) {
        return nn::Hardtanh{min_val, max_val};
      },
      "min_val"_a = nn::Hardtanh{}.min_val, "max_val"_a = nn::Hardtanh{}.max_val);
  def_layer(
      m, "Threshold",
      [](double threshold, double value) {
        return nn::Threshold{threshold, value};
      },
      "threshold"_a, "value"_a);
}

}  // namespace thalweg::python

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "modules.h"
#include "thalweg/nn.h"

namespace thalweg::python {
namespace {

template <typename Layer>
void def_plain(nb::module_& nn, const char* name, const char* doc) {
  def_layer(nn, name, doc, []() { return Layer{}; });
}

template <typename Layer, typename Number = double>
void def_one(nb::module_& nn, const char* name, const char* doc, const char* argument, Number usual) {
  def_layer(
      nn, name, doc, [](Number number) { return Layer{number}; }, nb::arg(argument) = usual);
}

/// The same for those of PyTorch's that can be asked to change their input; see below.
template <typename Layer>
void def_one_inplace(nb::module_& nn, const char* name, const char* doc, const char* argument, double usual) {
  def_layer(
      nn, name, doc, [](double number, bool) { return Layer{number}; }, nb::arg(argument) = usual, "inplace"_a = false);
}

/// PyTorch's ReLU and others change their input in place if asked to; in a graph that has no meaning.
template <typename Layer>
void def_inplace(nb::module_& nn, const char* name, const char* doc) {
  def_layer(
      nn, name, doc, [](bool) { return Layer{}; }, "inplace"_a = false);
}

}  // namespace

void bind_activations(nb::module_& m) {
  def_plain<nn::Identity>(m, "Identity", "What it is given.");
  def_inplace<nn::ReLU>(m, "ReLU", "max(0, x).");
  def_inplace<nn::ReLU6>(m, "ReLU6", "min(max(0, x), 6).");
  def_inplace<nn::SELU>(m, "SELU", "Scaled ELU, which keeps mean and variance of activations.");
  def_inplace<nn::SiLU>(m, "SiLU", "x * sigmoid(x), also called swish.");
  def_inplace<nn::Mish>(m, "Mish", "x * tanh(softplus(x)).");
  def_inplace<nn::Hardsigmoid>(m, "Hardsigmoid", "A sigmoid of straight lines: min(max(0, x + 3), 6) / 6.");
  def_inplace<nn::Hardswish>(m, "Hardswish", "x * hardsigmoid(x).");
  def_plain<nn::Sigmoid>(m, "Sigmoid", "1 / (1 + exp(-x)).");
  def_plain<nn::LogSigmoid>(m, "LogSigmoid", "log(sigmoid(x)).");
  def_plain<nn::Tanh>(m, "Tanh", "The hyperbolic tangent.");
  def_plain<nn::Softsign>(m, "Softsign", "x / (1 + |x|).");
  def_plain<nn::Tanhshrink>(m, "Tanhshrink", "x - tanh(x).");
  def_one_inplace<nn::LeakyReLU>(m, "LeakyReLU", "x where positive, negative_slope * x elsewhere.", "negative_slope",
                                 nn::LeakyReLU{}.negative_slope);
  def_one_inplace<nn::ELU>(m, "ELU", "x where positive, alpha * (exp(x) - 1) elsewhere.", "alpha", nn::ELU{}.alpha);
  def_one_inplace<nn::CELU>(m, "CELU", "x where positive, alpha * (exp(x / alpha) - 1) elsewhere.", "alpha",
                            nn::CELU{}.alpha);
  def_one<nn::Softplus>(m, "Softplus", "log(1 + exp(beta * x)) / beta.", "beta", nn::Softplus{}.beta);
  def_one<nn::Hardshrink>(m, "Hardshrink", "x where |x| > lambd, 0 elsewhere.", "lambd", nn::Hardshrink{}.lambda);
  def_one<nn::Softshrink>(m, "Softshrink", "x nearer to 0 by lambd, and 0 where |x| < lambd.", "lambd",
                          nn::Softshrink{}.lambda);
  def_one<nn::GELU, std::string>(m, "GELU",
                                 "x times the normal distribution function of x; approximate is \"none\" or \"tanh\".",
                                 "approximate", nn::GELU{}.approximate);
  def_one<nn::Softmax, int64_t>(m, "Softmax", "exp(x), divided by its sum along dim.", "dim", nn::Softmax{}.dim);
  def_one<nn::LogSoftmax, int64_t>(m, "LogSoftmax", "The logarithm of Softmax.", "dim", nn::LogSoftmax{}.dim);
  def_one<nn::Softmin, int64_t>(m, "Softmin", "Softmax of -x.", "dim", nn::Softmin{}.dim);
  def_one<nn::GLU, int64_t>(m, "GLU", "The first half along dim times the sigmoid of the second.", "dim",
                            nn::GLU{}.dim);
  def_layer(
      m, "PReLU", "LeakyReLU with a slope that is learned, one for all channels or one for each.",
      [](int64_t num_parameters, double init) {
        return nn::PReLU{num_parameters, init};
      },
      "num_parameters"_a = nn::PReLU{}.num_parameters, "init"_a = nn::PReLU{}.init);
  def_layer(
      m, "RReLU", "LeakyReLU with a random slope in training and the mean slope at inference.",
      [](double lower, double upper) {
        return nn::RReLU{lower, upper};
      },
      "lower"_a = nn::RReLU{}.lower, "upper"_a = nn::RReLU{}.upper);
  def_layer(
      m, "Hardtanh", "x, but no less than min_val and no more than max_val.",
      [](double min_val, double max_val) {
        return nn::Hardtanh{min_val, max_val};
      },
      "min_val"_a = nn::Hardtanh{}.min_val, "max_val"_a = nn::Hardtanh{}.max_val);
  def_layer(
      m, "Threshold", "x where it is greater than threshold, value elsewhere.",
      [](double threshold, double value) {
        return nn::Threshold{threshold, value};
      },
      "threshold"_a, "value"_a);
}

}  // namespace thalweg::python

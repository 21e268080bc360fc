// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "graph/op_registry.h"
#include "modules.h"
#include "thalweg/nn.h"

namespace thalweg::python {
namespace {

template <typename Layer, typename Number>
void def_one(nb::module_& nn, const char* name, const char* doc, const char* argument, Number usual) {
  def_layer(
      nn, name, doc, [](Number number) { return Layer{number}; }, nb::arg(argument) = usual);
}

/// A layer that is one op of the engine with numbers for attributes, under the name that PyTorch has for it.
struct OpLayer {
  const OpDef* op;
  Attributes attrs;

  OpLayer(const OpDef& definition, const std::vector<double>& numbers) : op(&definition) {
    for (size_t i = 0; i < numbers.size(); ++i) attrs.set(op->attributes[i].name, numbers[i]);
  }
  Value* forward(const nn::Scope& scope, Value* x) const {
    return x->graph().add(op->name, {x}, attrs, scope.path())->output();
  }
};

/// Each layer is a class of its own for Python, so it is one here.
template <size_t Index>
struct OpLayerNumber;

/// PyTorch's ReLU and others change their input in place if asked to; in a graph that has no meaning.
template <size_t Index>
void def_op_layer(nb::module_& nn, const OpDef& op) {
  using Bound = LayerModule<OpLayerNumber<Index>, OpLayer, std::vector<double>>;
  const auto make = [&op](Bound* self, const std::vector<double>& numbers) {
    new (self) Bound(OpLayer(op, numbers), numbers);
  };
  nb::class_<Bound, Module> type(nn, op.layer.c_str(), op.doc.c_str());
  const auto number = [&](size_t i) {
    return nb::arg(op.attributes[i].name.c_str()) = std::get<double>(*op.attributes[i].usual);
  };
  if (op.attributes.empty()) {
    type.def(
        "__init__", [make](Bound* self, bool) { make(self, {}); }, "inplace"_a = false);
  } else if (op.attributes.size() == 1) {
    type.def(
        "__init__", [make](Bound* self, double a, bool) { make(self, {a}); }, number(0), "inplace"_a = false);
  } else {
    type.def(
        "__init__",
        [make](Bound* self, double a, double b, bool) {
          make(self, {a, b});
        },
        number(0), number(1), "inplace"_a = false);
  }
  type.def("__getstate__", [](const Bound& self) { return self.arguments; });
  type.def("__setstate__",
           [make](Bound& self, const std::tuple<std::vector<double>>& state) { make(&self, std::get<0>(state)); });
  def_forward(type);
}

template <size_t... Index>
void def_op_layers(nb::module_& nn, std::index_sequence<Index...>) {
  std::vector<const OpDef*> layers;
  for (const std::string& name : op_names()) {
    if (!find_op(name).layer.empty()) layers.push_back(&find_op(name));
  }
  TW_REQUIRE(layers.size() <= sizeof...(Index), "there are ", layers.size(), " ops that are layers: raise the number");
  ((Index < layers.size() ? def_op_layer<Index>(nn, *layers[Index]) : void()), ...);
}

}  // namespace

void bind_activations(nb::module_& m) {
  def_op_layers(m, std::make_index_sequence<32>());
  def_layer(m, "Identity", "What it is given.", []() { return nn::Identity{}; });
  def_layer(
      m, "ReLU6", "min(max(0, x), 6).", [](bool) { return nn::ReLU6{}; }, "inplace"_a = false);
  def_layer(
      m, "Hardsigmoid", "A sigmoid of straight lines: min(max(0, x + 3), 6) / 6.",
      [](bool) { return nn::Hardsigmoid{}; }, "inplace"_a = false);
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
}

}  // namespace thalweg::python

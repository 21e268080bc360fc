// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>

#include "bindings.h"
#include "graph_policy.h"
#include "thalweg/nn/scope.h"

/// thalweg.nn.Module. Modules have no weights: called with values they append to the values' graph, and what they
/// create there is named after their place in the tree of modules.
namespace thalweg::python {

/// A tensor that a module of a user's own owns: thalweg.nn.Parameter, or a buffer.
struct OwnTensor {
  Tensor data;
  bool trainable = true;
  bool is_state = false;
};

class Module {
 public:
  Module() = default;
  virtual ~Module() = default;

  /// Where in a graph the module is. The graph is the Python object, null before the first call.
  nb::object graph;
  uint64_t seed = 0;
  std::string path;
  /// A second call uses the same weights.
  bool applied = false;
  /// Calls under way.
  int depth = 0;
  std::vector<std::pair<std::string, OwnTensor>> tensors;

  /// Valid once the module has a graph.
  nn::Scope scope() const;
  OwnTensor* find_tensor(const std::string& name);
};

/// Gives a module and all modules below it their places.
void settle(nb::handle module, const nb::object& graph, uint64_t seed, const std::string& path);
/// Takes the places back, so that the modules can build another graph.
void unsettle(nb::handle module);

/// A layer of the engine. `Args` are those of its constructor in Python, which pickle keeps; `Make`, the function that
/// makes the layer, tells classes apart that differ in nothing else.
template <typename Make, typename Layer, typename... Args>
class LayerModule : public Module {
 public:
  LayerModule(Layer made, Args... args) : layer(std::move(made)), arguments(std::move(args)...) {}
  Layer layer;
  std::tuple<Args...> arguments;
};

template <typename Make, typename Layer, typename... Args, typename... Extra>
auto bind_layer_class(nb::module_& module, const char* name, const char* doc, Layer (*make)(Args...),
                      const Extra&... extra) {
  using Bound = LayerModule<Make, Layer, std::decay_t<Args>...>;
  return nb::class_<Bound, Module>(module, name, doc)
      .def(
          "__init__", [make](Bound* self, Args... args) { new (self) Bound(make(args...), args...); }, extra...)
      .def("__getstate__", [](const Bound& self) { return self.arguments; })
      .def("__setstate__", [make](Bound& self, const std::tuple<std::decay_t<Args>...>& state) {
        std::apply([&](const auto&... args) { new (&self) Bound(make(args...), args...); }, state);
      });
}

/// Binds a layer that `make`, a lambda of its own for each, makes of the arguments that `extra` names; returns the
/// class, for `forward` to be added.
template <typename Make, typename... Extra>
auto def_layer_class(nb::module_& module, const char* name, const char* doc, Make make, const Extra&... extra) {
  return bind_layer_class<Make>(module, name, doc, +make, extra...);
}

/// `forward` of a layer of one value.
template <typename Class>
void def_forward(Class& type) {
  using Bound = typename Class::Type;
  type.def(
      "forward", [](const Bound& self, Value* x) { return self.layer.forward(self.scope(), x); }, "x"_a,
      nb::rv_policy::reference, nb::call_policy<KeepGraph>());
}

/// As def_layer_class for such a layer.
template <typename Make, typename... Extra>
void def_layer(nb::module_& module, const char* name, const char* doc, Make make, const Extra&... extra) {
  auto type = def_layer_class(module, name, doc, make, extra...);
  def_forward(type);
}

void bind_modules(nb::module_& nn);
void bind_activations(nb::module_& nn);
void bind_convolutions(nb::module_& nn);
void bind_dense_layers(nb::module_& nn);
void bind_sequence_layers(nb::module_& nn);

}  // namespace thalweg::python

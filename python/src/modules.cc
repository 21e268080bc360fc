// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "modules.h"

#include <algorithm>
#include <cctype>

namespace thalweg::python {

nn::Scope Module::scope() const {
  if (!graph.is_valid()) throw InputError("a layer needs a place in a graph: call the layer itself, not its forward()");
  nn::Scope root(nb::cast<Graph&>(graph), seed);
  nn::Scope here = path.empty() ? root : root.sub(path);
  return applied ? here.reuse() : here;
}

OwnTensor* Module::find_tensor(const std::string& name) {
  for (auto& [known, tensor] : tensors) {
    if (known == name) return &tensor;
  }
  return nullptr;
}

namespace {

Module& module_of(nb::handle object) {
  if (!nb::inst_ready(object)) {
    const std::string type = nb::cast<std::string>(object.type().attr("__name__"));
    throw nb::attribute_error((type + ".__init__() must call super().__init__() before anything else").c_str());
  }
  return nb::cast<Module&>(object);
}

template <typename Visit>
void for_each_child(nb::handle module, const Visit& visit) {
  for (const auto& [name, child] : nb::borrow<nb::dict>(module.attr("__dict__"))) {
    if (nb::isinstance<Module>(child)) visit(nb::cast<std::string>(name), child);
  }
}

/// "linear_1" if the graph has no weight below that name yet, else the next number.
std::string free_name(const Graph& graph, nb::handle module) {
  std::string type = nb::cast<std::string>(module.type().attr("__name__"));
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto taken = [&](const std::string& prefix) {
    const auto below = [&](const Value* value) { return value->name().compare(0, prefix.size(), prefix) == 0; };
    return std::any_of(graph.parameters().begin(), graph.parameters().end(), below) ||
           std::any_of(graph.states().begin(), graph.states().end(), below);
  };
  int number = 1;
  while (taken(type + "_" + std::to_string(number) + ".")) ++number;
  return type + "_" + std::to_string(number);
}

/// The graph of the first value among the arguments of a call, looked for in lists, tuples and dicts too.
nb::object graph_of(nb::handle argument) {
  if (nb::isinstance<Value>(argument)) return nb::find(nb::cast<Value*>(argument)->graph());
  if (PyDict_Check(argument.ptr())) return graph_of(nb::borrow<nb::dict>(argument).values());
  if (!PyList_Check(argument.ptr()) && !PyTuple_Check(argument.ptr())) return {};
  for (const nb::handle item : nb::borrow<nb::sequence>(argument)) {
    nb::object graph = graph_of(item);
    if (graph.is_valid()) return graph;
  }
  return {};
}

nb::object call(nb::handle self, const nb::args& args, const nb::kwargs& named) {
  auto& module = module_of(self);
  nb::object graph = graph_of(args);
  if (!graph.is_valid()) graph = graph_of(named);
  if (!graph.is_valid()) {
    throw nb::type_error(
        "a module takes values of a graph; to compute with arrays make a model of it: "
        "thalweg.Model(module, [thalweg.Input(shape)])");
  }
  if (!module.graph.is(graph)) settle(self, graph, 0, free_name(nb::cast<const Graph&>(graph), self));
  ++module.depth;
  nb::object result;
  try {
    result = self.attr("forward")(*args, **named);
  } catch (...) {
    --module.depth;
    throw;
  }
  --module.depth;
  module.applied = true;
  return result;
}

void set_attribute(nb::handle self, const nb::str& name, nb::handle value) {
  auto& module = module_of(self);
  OwnTensor* known = module.find_tensor(name.c_str());
  if (nb::isinstance<OwnTensor>(value)) {
    const auto& tensor = nb::cast<const OwnTensor&>(value);
    if (known == nullptr) module.tensors.emplace_back(name.c_str(), tensor);
    if (known != nullptr) *known = tensor;
    return;
  }
  if (PyObject_GenericSetAttr(self.ptr(), name.ptr(), value.ptr()) != 0) throw nb::python_error();
}

/// What is no plain attribute: a parameter or buffer, which is a value of the graph while `forward` runs.
nb::object get_attribute(nb::handle self, const std::string& name) {
  auto& module = module_of(self);
  OwnTensor* tensor = module.find_tensor(name);
  if (tensor == nullptr) {
    const std::string type = nb::cast<std::string>(self.type().attr("__name__"));
    throw nb::attribute_error(("'" + type + "' object has no attribute '" + name + "'").c_str());
  }
  if (module.depth == 0) return nb::cast(*tensor);
  auto& graph = nb::cast<Graph&>(module.graph);
  const std::string full = module.scope().name(name);
  Value* value = graph.find(full);
  if (value == nullptr) {
    value = tensor->is_state ? graph.state(full, tensor->data.clone())
                             : graph.parameter(full, tensor->data.clone(), tensor->trainable);
  }
  nb::object result = nb::cast(value, nb::rv_policy::reference);
  keep_graph_alive(result);
  return result;
}

using ModuleState = std::tuple<nb::dict, std::vector<std::tuple<std::string, Tensor, bool, bool>>>;

ModuleState get_state(nb::handle self) {
  ModuleState state{nb::borrow<nb::dict>(self.attr("__dict__")), {}};
  for (const auto& [name, tensor] : module_of(self).tensors) {
    std::get<1>(state).emplace_back(name, tensor.data, tensor.trainable, tensor.is_state);
  }
  return state;
}

void set_state(nb::handle self, const ModuleState& state) {
  auto* module = nb::inst_ptr<Module>(self);
  new (module) Module();
  nb::inst_mark_ready(self);
  self.attr("__dict__").attr("update")(std::get<0>(state));
  for (const auto& [name, data, trainable, is_state] : std::get<1>(state)) {
    module->tensors.emplace_back(name, OwnTensor{data.clone(), trainable, is_state});
  }
}

void bind_own_tensor(nb::module_& nn) {
  nb::class_<OwnTensor>(nn, "Parameter", R"(Weights that a module of your own has; inside forward() it is a value.

>>> import numpy, thalweg
>>> class Scale(thalweg.nn.Module):
...     def __init__(self, size):
...         super().__init__()
...         self.weight = thalweg.nn.Parameter(numpy.ones(size, "float32"))
...
...     def forward(self, x):
...         return x * self.weight
>>> thalweg.Model(Scale(4), [thalweg.Input((None, 4))]).weight_names()
['weight'])")
      .def(
          "__init__",
          [](OwnTensor* self, nb::handle data, bool requires_grad) {
            new (self) OwnTensor{to_tensor(data).clone(), requires_grad, false};
          },
          "data"_a, "requires_grad"_a = true)
      .def_ro("data", &OwnTensor::data)
      .def_rw("requires_grad", &OwnTensor::trainable);
}

}  // namespace

void settle(nb::handle object, const nb::object& graph, uint64_t seed, const std::string& path) {
  auto& module = module_of(object);
  // A module that is reached twice keeps its first place, and so shares its weights.
  if (module.graph.is(graph)) return;
  module.graph = graph;
  module.seed = seed;
  module.path = path;
  module.applied = false;
  for_each_child(object, [&](const std::string& name, nb::handle child) {
    settle(child, graph, seed, path.empty() ? name : path + "." + name);
  });
}

void unsettle(nb::handle object) {
  auto& module = module_of(object);
  if (!module.graph.is_valid()) return;
  module.graph.reset();
  module.applied = false;
  for_each_child(object, [](const std::string&, nb::handle child) { unsettle(child); });
}

void bind_modules(nb::module_& nn) {
  bind_own_tensor(nn);
  nb::class_<Module>(nn, "Module", nb::dynamic_attr(), R"(Base class of layers and models, as in PyTorch.

Derive from it, keep layers in attributes, and write forward(), which gets values of a graph rather than arrays. Weights
are named after the attributes: "encoder.0.weight".)")
      .def(nb::init<>())
      .def("__call__", call, "args"_a, "kwargs"_a,
           nb::sig("def __call__(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any"))
      .def("__setattr__", set_attribute, "name"_a, "value"_a.none())
      .def("__getattr__", get_attribute, "name"_a, nb::sig("def __getattr__(self, name: str) -> typing.Any"))
      .def("__getstate__", get_state)
      .def("__setstate__", set_state)
      .def(
          "register_buffer",
          [](Module& module, const std::string& name, nb::handle data) {
            module.tensors.emplace_back(name, OwnTensor{to_tensor(data).clone(), false, true});
          },
          "name"_a, "data"_a, "A state that is saved with the weights; see thalweg.ops.assign.")
      .def(
          "named_children",
          [](nb::handle self) {
            nb::list children;
            for_each_child(
                self, [&](const std::string& name, nb::handle child) { children.append(nb::make_tuple(name, child)); });
            return children;
          },
          "Name and module of each attribute that is a module, in order.");
}

void bind_nn(nb::module_& module) {
  auto nn = module.def_submodule("nn", "Layers with PyTorch's names, arguments and defaults.");
  bind_modules(nn);
  bind_activations(nn);
  bind_convolutions(nn);
  bind_dense_layers(nn);
  bind_sequence_layers(nn);
}

}  // namespace thalweg::python

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "model_building.h"

#include "modules.h"
#include "thalweg/zoo.h"

namespace thalweg::python {
namespace {

std::string numbered(const std::string& name, size_t index, size_t count) {
  return count == 1 ? name : name + std::to_string(index);
}

void mark_outputs(Graph& graph, nb::handle result) {
  const auto mark = [&](nb::handle value, const std::string& name) {
    Value* output = nullptr;
    if (!nb::try_cast(value, output) || output == nullptr) {
      const std::string type = nb::cast<std::string>(value.type().attr("__name__"));
      raise_input_error("output '", name, "' of the module is a ", type, ", not a value of the graph");
    }
    graph.mark_output(output, name);
  };
  if (PyDict_Check(result.ptr())) {
    for (const auto& [name, value] : nb::borrow<nb::dict>(result)) mark(value, nb::cast<std::string>(nb::str(name)));
    return;
  }
  const bool several = PyTuple_Check(result.ptr()) || PyList_Check(result.ptr());
  const nb::list values = several ? nb::list(nb::borrow(result)) : nb::list();
  if (!several) mark(result, "output");
  for (size_t i = 0; i < values.size(); ++i) mark(values[i], numbered("output", i, values.size()));
}

Attributes options_from(const nb::kwargs& options) {
  Attributes attributes;
  for (const auto& [key, value] : options) {
    const std::string name = nb::cast<std::string>(key);
    if (PyLong_Check(value.ptr())) {
      attributes.set(name, nb::cast<int64_t>(value));
    } else if (PyFloat_Check(value.ptr())) {
      attributes.set(name, nb::cast<double>(value));
    } else {
      attributes.set(name, nb::cast<std::vector<int64_t>>(value));
    }
  }
  return attributes;
}

}  // namespace

nb::object trace(nb::handle module, const std::vector<ModelInput>& inputs, uint64_t seed) {
  if (!nb::isinstance<Module>(module))
    throw nb::type_error("a model is made of a thalweg.nn.Module or a thalweg.Graph");
  const std::string name = nb::cast<std::string>(module.type().attr("__name__"));
  nb::object graph_object = nb::cast(new Graph(name), nb::rv_policy::take_ownership);
  auto& graph = nb::cast<Graph&>(graph_object);
  nb::list values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ModelInput& input = inputs[i];
    Value* value =
        graph.input(input.name.empty() ? numbered("input", i, inputs.size()) : input.name, {input.dtype, input.shape});
    values.append(nb::cast(value, nb::rv_policy::reference));
    keep_graph_alive(values[i]);
  }
  unsettle(module);
  settle(module, graph_object, seed, "");
  nb::object result;
  try {
    result = module(*values);
  } catch (...) {
    unsettle(module);
    throw;
  }
  unsettle(module);
  mark_outputs(graph, result);
  return graph_object;
}

void bind_model_building(nb::module_& module) {
  nb::class_<ModelInput>(module, "Input", "What goes into a model that is made of a module; None is a free dimension.")
      .def(
          "__init__",
          [](ModelInput* self, const Shape& shape, DType dtype, const std::string& name) {
            for (int d = 0; d < shape.rank(); ++d) {
              if (shape[d] < 0 && shape[d] != kFree) {
                raise_input_error("the shape of an input holds ", shape[d], "; None stands for a free dimension");
              }
            }
            new (self) ModelInput{shape, dtype, name};
          },
          "shape"_a, "dtype"_a = TensorType{}.dtype, "name"_a = "")
      .def_ro("shape", &ModelInput::shape)
      .def_ro("dtype", &ModelInput::dtype)
      .def_ro("name", &ModelInput::name)
      .def("__getstate__", [](const ModelInput& self) { return std::make_tuple(self.shape, self.dtype, self.name); })
      .def("__setstate__", [](ModelInput& self, const std::tuple<Shape, DType, std::string>& state) {
        new (&self) ModelInput{std::get<0>(state), std::get<1>(state), std::get<2>(state)};
      });
  module.def("trace", trace, "module"_a, "inputs"_a, "seed"_a = kDefaultSeed,
             "The graph that a module builds when it is called with such inputs.");
  auto known = module.def_submodule("zoo", "Known models as graphs with a free batch, by name.");
  known.def("names", zoo::names);
  known.def(
      "options",
      [](const std::string& name) {
        nb::dict result;
        for (const zoo::OptionInfo& option : zoo::options(name)) result[option.name.c_str()] = option.usual;
        return result;
      },
      "name"_a, "What `build` takes for this model, and what each is if nobody says it, as text.");
  known.def(
      "build",
      [](const std::string& name, const nb::kwargs& options) { return zoo::build(name, options_from(options)); },
      "name"_a, "options"_a, "A model by its name, such as \"resnet50\", with options such as classes=10.");
}

}  // namespace thalweg::python

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph.h"

#include <cmath>

#include "bindings.h"
#include "graph_policy.h"
#include "thalweg/onnx.h"
#include "thalweg/ops.h"

namespace thalweg::python {

void keep_graph_alive(nb::handle result) {
  if (nb::isinstance<Value>(result)) {
    const nb::object graph = nb::find(nb::cast<Value*>(result)->graph());
    if (graph.is_valid()) nb::keep_alive_obj(result, graph);
  } else if (PyList_Check(result.ptr()) || PyTuple_Check(result.ptr())) {
    for (const nb::handle item : nb::borrow<nb::sequence>(result)) keep_graph_alive(item);
  }
}

void forget_values(const Graph& graph) {
  const auto forget = [](const std::vector<Value*>& values) {
    for (Value* value : values) {
      const nb::object known = nb::find(*value);
      if (known.is_valid()) nb::inst_set_state(known, false, false);
    }
  };
  forget(graph.inputs());
  forget(graph.parameters());
  forget(graph.states());
  forget(graph.constants());
  for (const auto& node : graph.nodes()) forget(node->outputs());
}

Value* as_value(Value* like, const Operand& operand) {
  if (const auto* value = std::get_if<Value*>(&operand)) return *value;
  if (const auto* number = std::get_if<double>(&operand)) {
    if (!is_floating(like->dtype()) && std::trunc(*number) != *number) {
      raise_input_error(*number, " together with a value of ", like->type(),
                        " would lose its fraction: cast the value first, x.to(\"float32\")");
    }
    return ops::scalar_like(like, *number);
  }
  // The array is the caller's, who may change it later.
  return like->graph().constant(std::get<Tensor>(operand).clone().to(like->dtype()));
}

namespace {

template <typename T>
std::vector<T> numbers_from(nb::handle list) {
  return nb::cast<std::vector<T>>(list);
}

/// A bool is an integer, a list takes the type of its first element.
Attributes::Item attribute_from(const std::string& name, nb::handle value) {
  if (PyLong_Check(value.ptr())) return nb::cast<int64_t>(value);
  if (PyFloat_Check(value.ptr())) return nb::cast<double>(value);
  if (PyUnicode_Check(value.ptr())) return nb::cast<std::string>(value);
  if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr())) {
    if (nb::len(value) == 0 || PyLong_Check(nb::object(value[0]).ptr())) return numbers_from<int64_t>(value);
    if (PyFloat_Check(nb::object(value[0]).ptr())) return numbers_from<double>(value);
    return numbers_from<std::string>(value);
  }
  Tensor tensor;
  if (tensor_from_array(value, tensor)) return tensor;
  raise_input_error("attribute '", name, "' is neither a number, a str, a list of these nor an array");
}

Attributes attributes_from(const nb::dict& given) {
  Attributes attributes;
  for (const auto& [key, value] : given) {
    const std::string name = nb::cast<std::string>(nb::str(key));
    attributes.set(name, attribute_from(name, value));
  }
  return attributes;
}

nb::object attribute_to_python(const Attributes::Item& item) {
  return std::visit(
      [](const auto& value) -> nb::object {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::shared_ptr<Graph>>) {
          return nb::str(value->to_string().c_str());
        } else {
          return nb::cast(value);
        }
      },
      item);
}

nb::dict attributes_to_python(const Attributes& attributes) {
  nb::dict result;
  for (const auto& [name, item] : attributes.items()) result[name.c_str()] = attribute_to_python(item);
  return result;
}

const char* name_of_kind(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::kInput: return "input";
    case Value::Kind::kParameter: return "parameter";
    case Value::Kind::kState: return "state";
    case Value::Kind::kConstant: return "constant";
    case Value::Kind::kComputed: return "computed";
  }
  return "";
}

std::string text_of(const Value& value) {
  std::ostringstream text;
  text << "Value(" << (value.name().empty() ? "%" + std::to_string(value.id()) : "'" + value.name() + "'") << ", "
       << value.type() << ", " << name_of_kind(value.kind()) << ")";
  return text.str();
}

void bind_node(nb::module_& module) {
  nb::class_<Node>(module, "Node", "One operation of a graph.")
      .def_prop_ro("op", &Node::op_name)
      .def_prop_ro("name", &Node::name)
      .def_prop_ro("inputs", &Node::inputs, nb::rv_policy::reference, nb::call_policy<KeepGraph>())
      .def_prop_ro("outputs", &Node::outputs, nb::rv_policy::reference, nb::call_policy<KeepGraph>())
      .def_prop_ro("attributes", [](const Node& node) { return attributes_to_python(node.attrs()); })
      .def("__repr__", [](const Node& node) { return describe(node); });
}

void bind_value(nb::module_& module) {
  nb::class_<Value>(module, "Value",
                    R"(A typed edge of a graph: what layers and ops take and give while a model is built.

It has no content; it stands for what will be there when the model runs. Operators and methods append to its graph.)")
      .def_prop_ro("name", &Value::name)
      .def_prop_ro("shape", &Value::shape, "None stands for a dimension that is free, such as the batch.")
      .def_prop_ro("dtype", &Value::dtype)
      .def_prop_ro("ndim", [](const Value& value) { return value.shape().rank(); })
      .def_prop_ro(
          "kind", [](const Value& value) { return name_of_kind(value.kind()); },
          "One of input, parameter, state, constant, computed.")
      .def_prop_ro("data", &Value::data, "The content of a constant; what a parameter or state starts from. Else None.")
      .def_prop_rw("trainable", &Value::trainable, &Value::set_trainable)
      .def("__repr__", text_of);
}

}  // namespace

void bind_graph(nb::module_& module) {
  bind_value(module);
  bind_node(module);
  constexpr auto kReference = nb::rv_policy::reference;
  const nb::call_policy<KeepGraph> keep;
  nb::class_<Graph>(module, "Graph", R"(A model as data: typed values, and nodes in order.

>>> import thalweg
>>> graph = thalweg.Graph()
>>> x = graph.input("x", (None, 4))
>>> graph.mark_output(thalweg.nn.Linear(4, 3)(x), "scores")
>>> model = thalweg.Model(graph))")
      .def(nb::init<>())
      .def(nb::init<std::string>(), "name"_a)
      .def_prop_ro("name", &Graph::name)
      .def(
          "input",
          [](Graph& graph, const std::string& name, const Shape& shape, DType dtype) {
            return graph.input(name, {dtype, shape});
          },
          "name"_a, "shape"_a, "dtype"_a = TensorType{}.dtype, kReference, keep,
          "Something given at each run; None in the shape is a free dimension.")
      .def(
          "parameter",
          [](Graph& graph, const std::string& name, const Tensor& data, bool trainable) {
            return graph.parameter(name, data.clone(), trainable);
          },
          "name"_a, "data"_a, "trainable"_a = true, kReference, keep,
          "Weights, which start as `data`. Names are unique within a graph.")
      .def(
          "state",
          [](Graph& graph, const std::string& name, const Tensor& data) { return graph.state(name, data.clone()); },
          "name"_a, "data"_a, kReference, keep,
          "Kept between runs and changed by `assign` only, such as running statistics.")
      .def(
          "constant",
          [](Graph& graph, const Tensor& data, const std::string& name) { return graph.constant(data.clone(), name); },
          "data"_a, "name"_a = "", kReference, keep)
      .def(
          "add",
          [](Graph& graph, const std::string& op, std::vector<Value*> inputs, const nb::dict& attributes,
             const std::string& name) {
            return graph.add(op, std::move(inputs), attributes_from(attributes), name)->outputs();
          },
          "op"_a, "inputs"_a.none(), "attributes"_a = nb::dict(), "name"_a = "", kReference, keep,
          "Appends a node of any registered op and returns its outputs; None among the inputs stands for one left out.")
      .def("mark_output", &Graph::mark_output, "value"_a, "name"_a = "")
      .def("replace_output", &Graph::replace_output, "old"_a, "new"_a, "In the list of outputs only.")
      .def("assign", &Graph::assign, "state"_a, "value"_a, "After each run in training the state takes this value.")
      .def("find", &Graph::find, "name"_a, kReference, keep, "The value of that name, or None.")
      .def_prop_ro("inputs", &Graph::inputs, kReference, keep)
      .def_prop_ro("outputs", &Graph::outputs, kReference, keep)
      .def_prop_ro("parameters", &Graph::parameters, kReference, keep, "In order of creation.")
      .def_prop_ro("states", &Graph::states, kReference, keep)
      .def_prop_ro("nodes",
                   [](nb::handle self) {
                     nb::typed<nb::list, Node> nodes;
                     for (const auto& node : nb::cast<const Graph&>(self).nodes()) {
                       nodes.append(nb::cast(node.get(), nb::rv_policy::reference_internal, self));
                     }
                     return nodes;
                   })
      .def(
          "save_for_training", [](const Graph& graph, const std::string& path) { onnx::save_exactly(graph, path); },
          "path"_a, nb::call_guard<nb::gil_scoped_release>(), "For another process of the same version.")
      .def_static(
          "load_for_training", [](const std::string& path) { return onnx::load_for_training(path); }, "path"_a,
          nb::call_guard<nb::gil_scoped_release>(), "What save_for_training of a graph or a model wrote.")
      .def("verify", &Graph::verify, "Raises Error at the first broken invariant.")
      .def("__str__", &Graph::to_string);
}

}  // namespace thalweg::python

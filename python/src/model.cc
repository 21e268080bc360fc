// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/model.h"

#include "bindings.h"
#include "calls.h"
#include "engine_calls.h"
#include "model_building.h"
#include "modules.h"
#include "thalweg/graph_file.h"
#include "thalweg/onnx.h"

namespace thalweg::python {
namespace {

PredictOptions options_from(const std::string& precision, const std::string& math, const std::string& tuning,
                            int threads, int max_programs) {
  return {precision_from_name(precision), math_from_name(math), tuning_from_name(tuning), threads, max_programs};
}

nb::object call(Model& model, const nb::args& args, const nb::kwargs& named) {
  const Graph& graph = model.graph();
  const auto input_name = [&](size_t i) -> const std::string& { return graph.inputs()[i]->name(); };
  const auto output_name = [&](size_t i) -> const std::string& { return graph.outputs()[i]->name(); };
  bool as_dict = false;
  const std::vector<Tensor> inputs = call_inputs(args, named, graph.inputs().size(), input_name, as_dict);
  const std::vector<Tensor> outputs = call_advised(
      inputs, graph.inputs().size(), [&](size_t i) { return std::optional(graph.inputs()[i]->dtype()); },
      [&] { return call_engine([&] { return model.predict(inputs); }); });
  return call_result(outputs, output_name, as_dict);
}

std::map<std::string, Tensor> state_dict(const Model& model) {
  return call_engine([&] {
    std::map<std::string, Tensor> weights;
    for (const std::string& name : model.weight_names()) weights[name] = model.weight(name);
    return weights;
  });
}

void save(const Model& model, const PathText& path, const std::map<std::string, std::string>& metadata) {
  call_engine([&] { model.save(path.text, metadata); });
}

void save_weights(const Model& model, const PathText& path) {
  call_engine([&] { model.save_weights(path.text); });
}

void load_weights(Model& model, const PathText& path, bool strict) {
  call_engine([&] { model.load_weights(path.text, strict); });
}

void save_for_training(const Model& model, const PathText& path) {
  call_engine(
      [&] { save_graph(model.graph(), path.text, [&](const std::string& name) { return model.weight(name); }); });
}

template <typename... Extra>
void def_options(nb::class_<Model>& type, const char* name, const Extra&... extra) {
  const PredictOptions usual;
  type.def(name, extra..., nb::kw_only(), "precision"_a = name_of(usual.precision), "math"_a = name_of(usual.math),
           "tuning"_a = name_of(usual.tuning), "threads"_a = usual.threads, "max_programs"_a = usual.max_programs);
}

void bind_constructors(nb::class_<Model>& type) {
  def_options(
      type, "__init__",
      [](Model* self, const Graph& graph, const std::string& precision, const std::string& math,
         const std::string& tuning, int threads, int max_programs) {
        new (self) Model(graph.clone(), options_from(precision, math, tuning, threads, max_programs));
      },
      "graph"_a);
  const auto from_module = [](Model* self, nb::handle module, const std::vector<ModelInput>& inputs, uint64_t seed,
                              const std::string& precision, const std::string& math, const std::string& tuning,
                              int threads, int max_programs) {
    const nb::object graph = trace(module, inputs, seed);
    new (self)
        Model(nb::cast<const Graph&>(graph).clone(), options_from(precision, math, tuning, threads, max_programs));
  };
  const PredictOptions usual;
  type.def("__init__", from_module, "module"_a, "inputs"_a, "seed"_a = kDefaultSeed, nb::kw_only(),
           "precision"_a = name_of(usual.precision), "math"_a = name_of(usual.math), "tuning"_a = name_of(usual.tuning),
           "threads"_a = usual.threads, "max_programs"_a = usual.max_programs);
  type.def(
      "__init__",
      [](Model* /*self*/, const Module& /*module*/) {
        throw nb::type_error(
            "a module becomes a model for certain inputs: thalweg.Model(module, [thalweg.Input((None, 4))])");
      },
      "module"_a);
  def_options(type, "set_predict_options",
              [](Model& model, const std::string& precision, const std::string& math, const std::string& tuning,
                 int threads, int max_programs) {
                model.set_predict_options(options_from(precision, math, tuning, threads, max_programs));
              });
}

nb::dict predict_options(const Model& model) {
  const PredictOptions options = model.predict_options();
  nb::dict result;
  result["precision"] = name_of(options.precision);
  result["math"] = name_of(options.math);
  result["tuning"] = name_of(options.tuning);
  result["threads"] = options.threads;
  result["max_programs"] = options.max_programs;
  return result;
}

void bind_weights(nb::class_<Model>& type) {
  type.def("weight_names", &Model::weight_names, "Of all parameters and states, in order of creation.")
      .def("weight", through_engine(&Model::weight), "name"_a, "A copy of a parameter or state.")
      .def("set_weight", through_engine(&Model::set_weight), "name"_a, "value"_a)
      .def("state_dict", state_dict, "A copy of every parameter and state, by name.")
      .def("load_state_dict", through_engine(&Model::set_weights), "state_dict"_a, "strict"_a = true,
           "Raises Error with every name that is missing, unexpected or of another shape, before any weight changes.")
      .def("save_weights", save_weights, "path"_a, "As a safetensors file.")
      .def("load_weights", load_weights, "path"_a, "strict"_a = true, "From a safetensors file.")
      .def("freeze", through_engine(&Model::freeze), "pattern"_a,
           "Parameters whose names match ('*': any characters, '?': one) are no longer trained; returns how many.")
      .def("unfreeze", through_engine(&Model::unfreeze), "pattern"_a);
}

}  // namespace

void bind_model(nb::module_& module) {
  nb::class_<Model> type(module, "Model", R"(A graph and its weights: what is trained, asked for predictions and saved.

>>> import numpy, thalweg
>>> net = thalweg.nn.Sequential(thalweg.nn.Linear(4, 8), thalweg.nn.ReLU(), thalweg.nn.Linear(8, 3))
>>> model = thalweg.Model(net, [thalweg.Input((None, 4))])
>>> model(numpy.zeros((2, 4), "float32")).shape
(2, 3)

Model.load reads any ONNX model for inference.)");
  bind_constructors(type);
  bind_weights(type);
  type.def("__call__", call, "inputs"_a, "named"_a,
           nb::sig("def __call__(self, *inputs: typing.Any, **named: typing.Any) -> typing.Any"))
      .def("summary", &Model::summary, "A table of all weights: name, shape, count, whether it is trained.")
      .def("save", save, "path"_a, "metadata"_a = std::map<std::string, std::string>(),
           "What the model computes at inference, as an ONNX file.")
      .def(
          "save_for_training", save_for_training, "path"_a,
          "The model in training form with its weights, for another process of the same version: workers on a cluster.")
      .def("explain", through_engine(&Model::explain), "inputs"_a,
           "Which kernels run for these inputs, how long each takes, and why better ones declined.")
      .def_prop_ro("predict_options", predict_options, "As set_predict_options takes them.")
      .def_static(
          "from_onnx",
          [](const PathText& path) { return call_engine([&] { return Model(onnx::load_for_training(path.text)); }); },
          "path"_a, "An ONNX file as a model that can be trained; Model.load runs more of them, and faster.")
      .def_prop_ro("graph", &Model::graph, nb::rv_policy::reference_internal);
  type.attr("load") = module.attr("InferenceModel").attr("load");
}

}  // namespace thalweg::python

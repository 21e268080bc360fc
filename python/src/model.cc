// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/model.h"

#include "bindings.h"
#include "calls.h"
#include "columns.h"
#include "engine_calls.h"
#include "model_building.h"
#include "modules.h"
#include "thalweg/input_error.h"

namespace thalweg::python {
namespace {

/// The keywords of everything that makes or changes a model's options, each with its default.
struct OptionArguments {
  std::optional<std::string> precision;
  std::string math;
  std::optional<std::string> tuning;
  int threads;
  int max_programs;
  size_t max_memory;
  double max_seconds;
  std::optional<std::string> train_batch_norm;

  InferenceOptions options() const {
    InferenceOptions result;
    if (precision.has_value()) result.precision = precision_from_name(*precision);
    result.math = math_from_name(math);
    if (tuning.has_value()) result.tuning = tuning_from_name(*tuning);
    if (threads < 0) raise_input_error("threads is ", threads, ", must be 0 (what the machine allows) or more");
    result.threads = threads;
    result.max_programs = max_programs;
    result.max_memory = max_memory;
    result.max_seconds = max_seconds;
    if (train_batch_norm.has_value()) {
      result.train_batch_norm = onnx::batch_norm_training_from_name(*train_batch_norm);
    }
    return result;
  }
};

/// A function of the arguments `Given` and of options, as a function of `Given` and of the keywords of the options.
template <typename... Given, typename Function>
auto with_options(Function function) {
  return [function](Given... given, const std::optional<std::string>& precision, const std::string& math,
                    const std::optional<std::string>& tuning, int threads, int max_programs, size_t max_memory,
                    double max_seconds, const std::optional<std::string>& train_batch_norm) {
    const OptionArguments arguments{precision,    math,       tuning,      threads,
                                    max_programs, max_memory, max_seconds, train_batch_norm};
    return function(given..., arguments.options());
  };
}

/// Defines `function` (made by with_options) with `define`, and the keywords after `extra`.
template <typename Define, typename... Extra>
void define_with_options(Define define, const Extra&... extra) {
  const InferenceOptions usual;
  define(extra..., nb::kw_only(), "precision"_a = nb::none(), "math"_a = name_of(usual.math), "tuning"_a = nb::none(),
         "threads"_a = usual.threads, "max_programs"_a = usual.max_programs, "max_memory"_a = usual.max_memory,
         "max_seconds"_a = usual.max_seconds, "train_batch_norm"_a = nb::none());
}

nb::dict options_of(const Model& model) {
  const InferenceOptions options = model.options();
  nb::dict result;
  result["precision"] = options.precision.has_value() ? nb::cast(name_of(*options.precision)) : nb::none();
  result["math"] = name_of(options.math);
  result["tuning"] = options.tuning.has_value() ? nb::cast(name_of(*options.tuning)) : nb::none();
  result["threads"] = options.threads;
  result["max_programs"] = options.max_programs;
  result["max_memory"] = options.max_memory;
  result["max_seconds"] = options.max_seconds;
  result["train_batch_norm"] =
      options.train_batch_norm.has_value() ? nb::cast(onnx::name_of(*options.train_batch_norm)) : nb::none();
  return result;
}

nb::object call(const Model& model, const nb::args& args, const nb::kwargs& named) {
  const auto input_name = [&](size_t i) -> const std::string& { return model.inputs()[i].name; };
  const auto output_name = [&](size_t i) -> const std::string& { return model.outputs()[i].name; };
  bool as_dict = false;
  const bool is_table = args.size() == 1 && named.size() == 0 && is_table_for(model, args[0]);
  const std::vector<Tensor> inputs = is_table ? inputs_from_table(model, args[0])
                                              : call_inputs(args, named, model.inputs().size(), input_name, as_dict);
  const std::vector<Tensor> outputs = call_advised(
      inputs, model.inputs().size(), [&](size_t i) { return model.inputs()[i].dtype; },
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
  const auto weight = [&](const std::string& name) { return model.weight(name); };
  call_engine([&] { onnx::save_exactly(model.graph(), path.text, weight, model.metadata()); });
}

void bind_constructors(nb::class_<Model>& type) {
  const auto init = [&](auto... arguments) { type.def("__init__", arguments...); };
  define_with_options(init,
                      with_options<Model*, const Graph&>([](Model* self, const Graph& graph, const auto& options) {
                        new (self) Model(graph.clone(), options);
                      }),
                      "graph"_a);
  define_with_options(init,
                      with_options<Model*, nb::handle, const std::vector<ModelInput>&, uint64_t>(
                          [](Model* self, nb::handle module, const std::vector<ModelInput>& inputs, uint64_t seed,
                             const auto& options) {
                            const nb::object graph = trace(module, inputs, seed);
                            new (self) Model(nb::cast<const Graph&>(graph).clone(), options);
                          }),
                      "module"_a, "inputs"_a, "seed"_a = kDefaultSeed);
  type.def(
      "__init__",
      [](Model* /*self*/, const Module& /*module*/) {
        throw nb::type_error(
            "a module becomes a model for certain inputs: thalweg.Model(module, [thalweg.Input((None, 4))])");
      },
      "module"_a);
  define_with_options([&](auto... arguments) { type.def("set_options", arguments...); },
                      with_options<Model&>([](Model& model, const auto& options) { model.set_options(options); }));
}

void bind_loading(nb::class_<Model>& type) {
  define_with_options(
      [&](auto... arguments) {
        type.def_static(
            "load", arguments...,
            "Reads an ONNX file, or a Caffe network (.prototxt) with its weights: those given, or the "
            ".caffemodel of the same name beside it. With weights=\"\" a network starts as its fillers say.");
      },
      with_options<const PathText&, const std::optional<PathText>&>(
          [](const PathText& path, const std::optional<PathText>& weights, const auto& options) {
            return call_engine([&] {
              return weights.has_value() ? Model::load_caffe(path.text, weights->text, options)
                                         : Model::load(path.text, options);
            });
          }),
      "path"_a, "weights"_a = nb::none());
  define_with_options(
      [&](auto... arguments) {
        type.def_static("load_bytes", arguments..., "From the bytes of an ONNX file without external data.");
      },
      with_options<const std::string&>([](const std::string& bytes, const auto& options) {
        return call_engine([&] { return Model::load_bytes(bytes, options); });
      }),
      "data"_a);
}

void bind_description(nb::module_& module) {
  nb::class_<ValueDescription>(module, "ValueDescription", "What goes into or comes out of a model.")
      .def_ro("name", &ValueDescription::name)
      .def_ro("dtype", &ValueDescription::dtype, "None if the model does not say.")
      .def_ro("shape", &ValueDescription::shape, "None if not even the number of dimensions is known.")
      .def_ro("dimension_names", &ValueDescription::dimension_names)
      .def("__repr__", [](const ValueDescription& value) { return to_string(value); });
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
  bind_description(module);
  nb::class_<Model> type(module, "Model", nb::is_weak_referenceable(),
                         R"(A graph and its weights: what is loaded, asked for predictions, trained and saved.

>>> import numpy, thalweg
>>> net = thalweg.nn.Sequential(thalweg.nn.Linear(4, 8), thalweg.nn.ReLU(), thalweg.nn.Linear(8, 3))
>>> model = thalweg.Model(net, [thalweg.Input((None, 4), name="x")])
>>> x = numpy.zeros((2, 4), "float32")
>>> model(x).shape                    # one array in, one out
(2, 3)
>>> model.save("model.onnx")
>>> list(thalweg.Model.load("model.onnx")({"x": x}))    # by name; a dict comes back
['output']

Pandas frames and Arrow tables are taken as well, if the file names its columns: that of an estimator which
was fitted to such, or one with features (thalweg.data.Features).

Calls may come from several threads at once, and leave the interpreter free meanwhile.)");
  bind_constructors(type);
  bind_loading(type);
  bind_weights(type);
  type.def("__call__", call, "inputs"_a, "named"_a,
           nb::sig("def __call__(self, *inputs: typing.Any, **named: typing.Any) -> typing.Any"))
      .def(
          "predict",
          [](nb::handle self, nb::handle given, std::optional<int64_t> top, std::optional<int64_t> batch_size) {
            return nb::module_::import_("thalweg._predicting").attr("predict")(self, given, top, batch_size);
          },
          "data"_a, nb::kw_only(), "top"_a = nb::none(), "batch_size"_a = nb::none(),
          R"(Answers with names for raw data.

Takes what the file knows how to prepare: pictures (paths, a folder, bytes of files, PIL images, uint8 arrays), texts,
rows of a table (frames, Arrow tables, dicts of columns or of one row, files), or arrays as the model takes them. A model
of classes gives pairs of a class and how likely it is, the likeliest `top` (5) first, a list of them for each item; others
give arrays with a row for each item, by name if there are several outputs. A single item gets a single answer.)")
      .def(
          "summary", [](const Model& model) { return describe(model) + model.weight_table(); },
          "Inputs, outputs, operators, and a table of all weights: name, shape, count, whether it is trained.")
      .def("save", save, "path"_a, "metadata"_a = std::map<std::string, std::string>(),
           "What the model computes at inference, as an ONNX file.")
      .def(
          "save_for_training", save_for_training, "path"_a,
          "The model in training form with its weights, for another process of the same version: workers on a cluster.")
      .def("explain", through_engine(&Model::explain), "inputs"_a,
           "Which kernels run for these inputs, how long each takes, and why better ones declined.")
      .def_prop_ro("inputs", &Model::inputs)
      .def_prop_ro("outputs", &Model::outputs)
      .def_prop_ro("metadata", &Model::metadata)
      .def_prop_ro("options", options_of, "As load and set_options take them.")
      .def_prop_ro("graph", &Model::graph, nb::rv_policy::reference_internal);
}

}  // namespace thalweg::python

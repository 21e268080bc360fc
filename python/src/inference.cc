// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/inference.h"

#include "bindings.h"
#include "calls.h"
#include "columns.h"
#include "engine_calls.h"

namespace thalweg::python {
namespace {

InferenceOptions options_from(const std::optional<std::string>& precision, const std::string& math,
                              const std::string& tuning, int threads, int max_programs, size_t max_memory,
                              double max_seconds) {
  InferenceOptions options;
  if (precision.has_value()) options.precision = precision_from_name(*precision);
  options.math = math_from_name(math);
  options.tuning = tuning_from_name(tuning);
  if (threads < 0) raise_input_error("threads is ", threads, ", must be 0 (what the machine allows) or more");
  options.threads = threads;
  options.max_programs = max_programs;
  options.max_memory = max_memory;
  options.max_seconds = max_seconds;
  return options;
}

nb::object call(const InferenceModel& model, const nb::args& args, const nb::kwargs& named) {
  const auto input_name = [&](size_t i) -> const std::string& { return model.inputs()[i].name; };
  const auto output_name = [&](size_t i) -> const std::string& { return model.outputs()[i].name; };
  bool as_dict = false;
  const bool is_table = args.size() == 1 && named.size() == 0 && is_table_for(model, args[0]);
  const std::vector<Tensor> inputs = is_table ? inputs_from_table(model, args[0])
                                              : call_inputs(args, named, model.inputs().size(), input_name, as_dict);
  const std::vector<Tensor> outputs = call_advised(
      inputs, model.inputs().size(), [&](size_t i) { return model.inputs()[i].dtype; },
      [&] { return call_engine([&] { return model.run(inputs); }); });
  return call_result(outputs, output_name, as_dict);
}

nb::dict options_of(const InferenceModel& model) {
  const InferenceOptions& options = model.options();
  nb::dict result;
  result["precision"] = options.precision.has_value() ? nb::cast(name_of(*options.precision)) : nb::none();
  result["math"] = name_of(options.math);
  result["tuning"] = name_of(options.tuning);
  result["threads"] = options.threads;
  result["max_programs"] = options.max_programs;
  result["max_memory"] = options.max_memory;
  result["max_seconds"] = options.max_seconds;
  return result;
}

void bind_description(nb::module_& module) {
  nb::class_<ValueDescription>(module, "ValueDescription", "What goes into or comes out of a model.")
      .def_ro("name", &ValueDescription::name)
      .def_ro("dtype", &ValueDescription::dtype, "None if the model does not say.")
      .def_ro("shape", &ValueDescription::shape, "None if not even the number of dimensions is known.")
      .def_ro("dimension_names", &ValueDescription::dimension_names)
      .def("__repr__", [](const ValueDescription& value) { return to_string(value); });
}

template <typename Source, typename Load>
auto with_options(Load load) {
  return [load](const Source& source, const std::optional<std::string>& precision, const std::string& math,
                const std::string& tuning, int threads, int max_programs, size_t max_memory, double max_seconds) {
    const InferenceOptions options =
        options_from(precision, math, tuning, threads, max_programs, max_memory, max_seconds);
    return call_engine([&] { return load(source, options); });
  };
}

}  // namespace

void bind_inference(nb::module_& module) {
  bind_description(module);
  const InferenceOptions defaults;
  const auto def_load = [&](auto& type, const char* name, const char* source, auto load, const char* doc) {
    type.def_static(name, load, nb::arg(source), nb::kw_only(), "precision"_a = nb::none(),
                    "math"_a = name_of(defaults.math), "tuning"_a = name_of(defaults.tuning),
                    "threads"_a = defaults.threads, "max_programs"_a = defaults.max_programs,
                    "max_memory"_a = defaults.max_memory, "max_seconds"_a = defaults.max_seconds, doc);
  };
  nb::class_<InferenceModel> type(module, "InferenceModel",
                                  R"(An ONNX model ready to run, compiled for the shapes it is given.

>>> import numpy, thalweg
>>> net = thalweg.nn.Linear(4, 3)
>>> thalweg.Model(net, [thalweg.Input((None, 4), name="x")]).save("linear.onnx")
>>> model = thalweg.Model.load("linear.onnx")
>>> x = numpy.zeros((2, 4), "float32")
>>> model(x).shape                    # one array in, one out
(2, 3)
>>> list(model({"x": x}))             # by name; a dict comes back
['output']

Pandas frames and Arrow tables are taken as well, if the file names its columns: that of an estimator which
was fitted to such, or one with features (thalweg.data.Features).

Calls may come from several threads at once, and leave the interpreter free meanwhile.)");
  def_load(type, "load", "path", with_options<PathText>([](const PathText& path, const InferenceOptions& options) {
             return InferenceModel::load(path.text, options);
           }),
           "Reads an ONNX file.");
  def_load(type, "load_bytes", "data",
           with_options<std::string>([](const std::string& bytes, const InferenceOptions& options) {
             return InferenceModel::load_bytes(bytes, options);
           }),
           "From the bytes of an ONNX file without external data.");
  type.def("__call__", call, "inputs"_a, "named"_a,
           nb::sig("def __call__(self, *inputs: typing.Any, **named: typing.Any) -> typing.Any"))
      .def(
          "save",
          [](const InferenceModel& model, const PathText& path) { call_engine([&] { model.save(path.text); }); },
          "path"_a, "Writes an ONNX file.")
      .def(
          "summary", [](const InferenceModel& model) { return describe(model); }, "What the model holds, as text.")
      .def_prop_ro("inputs", &InferenceModel::inputs)
      .def_prop_ro("outputs", &InferenceModel::outputs)
      .def_prop_ro("metadata", &InferenceModel::metadata)
      .def_prop_ro("options", options_of, "As load takes them.")
      .def("explain", through_engine(&InferenceModel::explain), "inputs"_a,
           "Which kernels run for these inputs, how long each takes, and why better ones declined.");
}

}  // namespace thalweg::python

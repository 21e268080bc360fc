// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/optimize.h"

#include "engine_calls.h"
#include "tools.h"

namespace thalweg::python {
namespace {

OptimizeReport run(const std::string& path, const std::string& output, const std::vector<std::string>& forms,
                   std::vector<std::vector<Tensor>> data, const std::vector<Shape>& shapes,
                   const std::string& calibration, double max_drop, int threads, double seconds) {
  OptimizeOptions options;
  for (const std::string& form : forms) options.forms.push_back(model_form_from_name(form));
  options.data = std::move(data);
  options.shapes = shapes;
  options.calibration = calibration_from_name(calibration);
  options.max_drop = max_drop;
  options.threads = threads;
  options.seconds = seconds;
  options.progress = [](const std::string& /*doing*/, double /*done*/) { raise_signals(); };
  return call_engine([&] { return optimize(path, output, options); });
}

/// The fields of the reports, for pickle.
using FormState =
    std::tuple<std::string, double, double, uint64_t, double, double, int, std::vector<std::string>, bool, std::string>;
using ReportState = std::tuple<std::vector<FormReport>, size_t>;

FormState state_of(const FormReport& form) {
  return {name_of(form.form),       form.milliseconds,     form.samples_per_second, form.bytes,    form.agreement.score,
          form.agreement.max_error, form.quantised_layers, form.kept_layers,        form.accepted, form.note};
}

void set_state(FormReport& self, const FormState& state) {
  const auto& [form, milliseconds, rate, bytes, score, error, quantised, kept, accepted, note] = state;
  new (&self) FormReport{
      model_form_from_name(form), milliseconds, rate, bytes, {score, error}, quantised, kept, accepted, note};
}

}  // namespace

void bind_optimize(nb::module_& module) {
  nb::class_<FormReport>(module, "FormReport", "What came of a form in which a model was tried.")
      .def_prop_ro("form", [](const FormReport& self) { return name_of(self.form); })
      .def_ro("milliseconds", &FormReport::milliseconds)
      .def_ro("samples_per_second", &FormReport::samples_per_second)
      .def_ro("bytes", &FormReport::bytes)
      .def_prop_ro("agreement", [](const FormReport& self) { return self.agreement.score; })
      .def_prop_ro("max_error", [](const FormReport& self) { return self.agreement.max_error; })
      .def_ro("quantised_layers", &FormReport::quantised_layers)
      .def_ro("kept_layers", &FormReport::kept_layers)
      .def_ro("accepted", &FormReport::accepted)
      .def_ro("note", &FormReport::note)
      .def("__getstate__", state_of)
      .def("__setstate__", set_state);
  nb::class_<OptimizeReport>(module, "OptimizeReport", "Every form that was tried; str() is a table of them.")
      .def_ro("forms", &OptimizeReport::forms)
      .def_prop_ro("chosen", [](const OptimizeReport& self) { return self.forms[self.chosen]; })
      .def("to_json", [](const OptimizeReport& self) { return to_json(self); })
      .def("__str__", [](const OptimizeReport& self) { return to_table(self); })
      .def("__getstate__",
           [](const OptimizeReport& self) {
             return ReportState{self.forms, self.chosen};
           })
      .def("__setstate__", [](OptimizeReport& self, const ReportState& state) {
        new (&self) OptimizeReport{std::get<0>(state), std::get<1>(state)};
      });
  const OptimizeOptions usual;
  module.def("optimize_file", run, "path"_a, "output"_a, nb::kw_only(), "forms"_a = std::vector<std::string>(),
             "data"_a = usual.data, "shapes"_a = usual.shapes, "calibration"_a = name_of(usual.calibration),
             "max_drop"_a = usual.max_drop, "threads"_a = usual.threads, "seconds"_a = usual.seconds,
             "Tries an ONNX file in several forms and writes the fastest that agrees with f32.");
}

}  // namespace thalweg::python

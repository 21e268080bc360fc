// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "columns.h"
#include "thalweg/data/table_inputs.h"
#include "thalweg/predictor.h"
#include "training.h"

namespace thalweg::python {
namespace {

using data::Features;
using Names = std::vector<std::string>;

/// JSON as text, or as the list of dicts that it stands for.
Features features_from(nb::handle given) {
  const bool is_text = PyUnicode_Check(given.ptr()) != 0;
  const nb::object text = is_text ? nb::borrow(given) : nb::module_::import_("json").attr("dumps")(given);
  return Features::from_json(nb::cast<std::string>(text));
}

/// Of one input, or of each.
using InputColumns = std::variant<Names, std::vector<Names>>;

std::map<std::string, std::string> metadata_with(const Features& features, const InputColumns& columns,
                                                 const Names& class_names) {
  data::ModelMetadata metadata{.features = features, .class_names = class_names};
  const auto* one = std::get_if<Names>(&columns);
  metadata.columns = one != nullptr ? std::vector<Names>{*one} : std::get<std::vector<Names>>(columns);
  return data::to_properties(metadata);
}

/// Those of the only input; nothing if a file does not say them or has several inputs.
std::optional<Names> single_input_columns(const std::map<std::string, std::string>& properties) {
  const std::vector<Names> columns = data::metadata_from(properties).columns;
  return columns.size() == 1 ? std::optional(columns.front()) : std::nullopt;
}

}  // namespace

bool is_table_for(const Model& model, nb::handle given) {
  if (!nb::hasattr(given, "columns")) return false;
  const data::ModelMetadata metadata = data::metadata_from(model.metadata());
  if (!metadata.features.has_value() && metadata.columns.empty()) return false;
  return nb::cast<bool>(nb::module_::import_("thalweg._inputs").attr("is_table")(given));
}

std::vector<Tensor> inputs_from_table(const Model& model, nb::handle table) {
  const data::TableInputs inputs(data::metadata_from(model.metadata()), table_inputs(model));
  const nb::object names = nb::module_::import_("thalweg._columns").attr("names_of")(table);
  const auto [all, numbers] = nb::cast<std::pair<Names, Names>>(names);
  return inputs.make(columns_from(table, inputs.sources(all, numbers), inputs.imputed()));
}

std::pair<Names, Names> columns_needed(const Model& model, const Names& names) {
  const data::TableInputs inputs(data::metadata_from(model.metadata()), table_inputs(model));
  return {inputs.sources(names, names), inputs.imputed()};
}

void bind_features(nb::module_& m) {
  nb::class_<Features>(m, "Features", R"(Changes to columns of tables, fitted once to the training data.

    features = thalweg.data.Features([{"kind": "string_index", "column": "city"}, {"kind": "standard_scale", "column": "fare"}])
    columns = features.fit(frame)
    X = thalweg.data.stack_columns(columns, ["city", "fare"])
    model.save("tips.onnx", features.metadata(["city", "fare"]))
    thalweg.Model.load("tips.onnx")(other_frame)

docs/data.md lists the kinds. Tables are pandas frames, Arrow tables, or dicts of arrays and lists of texts.)")
      .def(
          "__init__", [](Features* self, nb::handle features) { new (self) Features(features_from(features)); },
          "features"_a, "As in JSON, or JSON.")
      .def(
          "fit",
          [](Features& self, nb::handle table) {
            std::vector<data::Column> columns = columns_from(table, {}, self.imputed());
            self.fit(columns);
            return columns_to_dict(columns);
          },
          "table"_a, "Learns what each change needs to know, and returns the changed columns as a dict.")
      .def(
          "apply",
          [](const Features& self, nb::handle table) {
            std::vector<data::Column> columns = columns_from(table, {}, self.imputed());
            self.apply(columns);
            return columns_to_dict(columns);
          },
          "table"_a, "The changed columns as a dict.")
      .def("metadata", metadata_with, "columns"_a, "class_names"_a = Names(),
           "For the file of a model with one input of these columns, or with several, a list each: save(path, "
           "metadata=...).")
      .def("to_json", &Features::to_json)
      .def_static("from_json", &Features::from_json, "text"_a)
      .def("__getstate__", &Features::to_json)
      .def("__setstate__",
           [](Features& self, const std::string& state) { new (&self) Features(Features::from_json(state)); });
  m.def(
      "stack_columns",
      [](nb::handle table, const Names& names, DType dtype) {
        return to_numpy(data::to_tensor(columns_from(table, names), names, dtype));
      },
      "table"_a, "names"_a, "dtype"_a = DType::kF32, "Columns of numbers side by side, [rows, columns].");
  m.def(
      "columns_metadata", [](const Names& columns) { return data::to_properties({.columns = {columns}}); }, "columns"_a,
      "For the file of a model with one input of these columns: save(path, metadata=...).");
  m.def("columns_from_metadata", single_input_columns, "metadata"_a,
        "The columns of the only input, None if the file does not say them.");
  m.def("model_inputs", inputs_from_table, "model"_a, "table"_a,
        "What a table becomes for a loaded model whose file has features or columns: an array for each of its inputs.");
}

}  // namespace thalweg::python

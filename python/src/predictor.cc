// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/predictor.h"

#include "bindings.h"
#include "columns.h"
#include "data/file_list.h"
#include "engine_calls.h"

namespace thalweg::python {
namespace {

/// The bytes of a file, or an array of pixels. What it holds must stay while the picture is in use.
Picture picture_from(const std::string& name, nb::handle given, std::vector<Tensor>& kept) {
  Picture picture{name, {}, {}};
  if (PyBytes_Check(given.ptr()) != 0) {
    const auto* data = reinterpret_cast<const uint8_t*>(PyBytes_AsString(given.ptr()));
    picture.bytes = {data, static_cast<size_t>(PyBytes_Size(given.ptr()))};
  } else {
    kept.push_back(to_tensor(given));
    picture.pixels = kept.back();
  }
  return picture;
}

std::vector<Tensor> from_pictures(const Predictor& predictor, const std::vector<std::string>& names,
                                  const std::vector<nb::object>& given) {
  std::vector<Tensor> kept;
  std::vector<Picture> pictures;
  for (size_t i = 0; i < given.size(); ++i) pictures.push_back(picture_from(names.at(i), given[i], kept));
  return call_engine([&] { return predictor.from_pictures(pictures); });
}

/// For each row the likeliest classes, with their names.
std::vector<std::vector<std::pair<std::string, double>>> ranked(const Predictor& predictor, const Tensor& output,
                                                                int64_t top) {
  return call_engine([&] {
    const Tensor all = predictor.probabilities(output);
    std::vector<std::vector<std::pair<std::string, double>>> rows;
    for (int64_t row = 0; row < all.shape()[0]; ++row) {
      auto& one = rows.emplace_back();
      for (const RankedClass& found : largest(all.rows(row, row + 1), top)) {
        one.emplace_back(predictor.class_name(found.index), found.score);
      }
    }
    return rows;
  });
}

}  // namespace

void bind_predictor(nb::module_& module) {
  nb::class_<Predictor>(module, "Predictor",
                        "What a model's file says of raw data and of answers: behind Model.predict.")
      .def(nb::init<const Model&>(), "model"_a, "The model must outlive it.")
      .def_prop_ro("takes_texts", &Predictor::takes_texts)
      .def_prop_ro("takes_pictures", &Predictor::takes_pictures)
      .def_prop_ro("takes_columns", &Predictor::takes_columns)
      .def_prop_ro("gives_rows", &Predictor::gives_rows)
      .def_prop_ro("gives_classes", &Predictor::gives_classes)
      .def("from_pictures", from_pictures, "names"_a, "pictures"_a)
      .def(
          "from_texts",
          [](const Predictor& self, const std::vector<std::string>& texts) {
            return call_engine([&] { return self.from_texts(texts); });
          },
          "texts"_a)
      .def("ranked", ranked, "output"_a, "top"_a = kUsualTop);
  module.def(
      "is_table_file", [](const std::string& name) { return data::has_table_extension(name); }, "name"_a);
  module.def("columns_needed", columns_needed, "model"_a, "names"_a);
  module.def(
      "inputs_from_table", [](const Model& model, nb::handle table) { return inputs_from_table(model, table); },
      "model"_a, "table"_a);
}

}  // namespace thalweg::python

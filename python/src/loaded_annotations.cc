// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "loaded_annotations.h"

namespace thalweg::python {
namespace {

std::string json_text(nb::handle given) {
  return nb::cast<std::string>(nb::module_::import_("json").attr("dumps")(given));
}

bool is_path(nb::handle given) { return !PyDict_Check(given.ptr()) && !PyList_Check(given.ptr()); }

}  // namespace

LoadedAnnotations load_annotations(nb::handle given, const MaybeFiles& files, bool strict) {
  if (!is_path(given)) return {data::parse_coco(json_text(given), "annotations", {strict})};
  const std::string path = nb::cast<PathText>(given).text;
  const nb::gil_scoped_release release;
  return {files ? data::read_coco(*files, path, {strict}) : data::read_coco(path, {strict})};
}

LoadedDetections load_detections(nb::handle given, const MaybeFiles& files) {
  if (!is_path(given)) return {data::parse_coco_results(json_text(given), "detections")};
  const std::string path = nb::cast<PathText>(given).text;
  const nb::gil_scoped_release release;
  return {files ? data::read_coco_results(*files, path) : data::read_coco_results(path)};
}

}  // namespace thalweg::python

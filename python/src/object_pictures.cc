// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/object_pictures.h"

#include <optional>

#include "images.h"
#include "loaded_annotations.h"
#include "tools.h"

namespace thalweg::python {
namespace {

using data::ObjectPictures;

using Extent = std::pair<int64_t, int64_t>;

data::ImageSize size_from(const Extent& extent) { return {extent.first, extent.second}; }
Extent extent_of(data::ImageSize size) { return {size.height, size.width}; }

void init(ObjectPictures* self, nb::handle annotations, const Directory& directory, nb::handle pipeline,
          int64_t max_objects, const Extent& masks, double min_side, double mosaic_probability,
          const Extent& mosaic_size) {
  data::ObjectPicturesOptions options;
  options.pipeline = pipeline_from(pipeline);
  options.max_objects = max_objects;
  options.masks = size_from(masks);
  options.min_side = min_side;
  options.mosaic_probability = mosaic_probability;
  options.mosaic_size = size_from(mosaic_size);
  std::optional<LoadedAnnotations> made;
  if (!nb::isinstance<LoadedAnnotations>(annotations)) made = load_annotations(annotations, nullptr, false);
  const auto& truth = (made ? *made : nb::cast<const LoadedAnnotations&>(annotations)).read.annotations;
  const nb::gil_scoped_release release;
  if (const auto* path = std::get_if<PathText>(&directory)) {
    new (self) ObjectPictures(truth, path->text, options);
  } else {
    new (self) ObjectPictures(truth, std::get<std::shared_ptr<data::Files>>(directory), options);
  }
}

}  // namespace

void bind_object_pictures(nb::module_& m) {
  const data::ObjectPicturesOptions usual;
  nb::class_<ObjectPictures, data::Dataset>(m, "ObjectPictures", R"(Pictures with the objects in them.

    thalweg.data.ObjectPictures("instances.json", "val2017", {"transforms": [{"name": "resize", "height": 550, "width": 550}]})

`annotations` is an instances file of COCO's, the dict that it holds, or thalweg.vision.Annotations; `directory` holds the
pictures, a path or remote_files(...) of an address. A sample's targets are boxes [max_objects, 4] (x0, y0, x1, y1 as shares of
the picture), labels (the place of the category among the ids in order, -1 where there is no object), crowds and, with
`masks=(height, width)`, masks. Boxes and masks go through `pipeline` with the pixels.)")
      .def("__init__", init, "annotations"_a, "directory"_a, "pipeline"_a.none() = nb::none(), nb::kw_only(),
           "max_objects"_a = usual.max_objects, "masks"_a = extent_of(usual.masks), "min_side"_a = usual.min_side,
           "mosaic_probability"_a = usual.mosaic_probability, "mosaic_size"_a = extent_of(usual.mosaic_size))
      .def_prop_ro("classes", &ObjectPictures::classes)
      .def_prop_ro(
          "problems", [](const ObjectPictures& self) { return self.problems().kinds; },
          "How often each kind of problem came up.")
      .def(
          "file", [](const ObjectPictures& self, int64_t index) { return self.picture(index).file; }, "index"_a,
          "Of a sample, within the directory.");
}

}  // namespace thalweg::python

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "images.h"

#include "data/file_list.h"
#include "thalweg/data/image_folder.h"
#include "training.h"

namespace thalweg::python {

data::Pipeline pipeline_from(nb::handle given) {
  if (given.is_none()) return {};
  const bool is_text = PyUnicode_Check(given.ptr()) != 0;
  const nb::object text = is_text ? nb::borrow(given) : nb::module_::import_("json").attr("dumps")(given);
  return data::Pipeline::from_json(nb::cast<std::string>(text));
}

namespace {

using data::ImageFolder;

data::ColorMode color_from(const std::string& name) {
  if (name == "rgb") return data::ColorMode::kRgb;
  if (name == "gray") return data::ColorMode::kGray;
  raise_input_error("color is '", name, "', not rgb or gray");
}

data::ImageCache cache_from(const std::string& name) {
  if (name == "files") return data::ImageCache::kFiles;
  if (name == "pixels") return data::ImageCache::kPixels;
  raise_input_error("cache is '", name, "', not files or pixels");
}

void init_folder(ImageFolder* self, const Directory& directory, nb::handle pipeline,
                 const std::optional<PathText>& manifest, bool labels, const std::string& color, int64_t max_pixels,
                 const std::string& cache, int64_t memory_bytes, int64_t disk_bytes, const PathText& cache_directory) {
  data::ImageFolderOptions options;
  options.pipeline = pipeline_from(pipeline);
  options.labels = labels ? data::ImageLabels::kFolders : data::ImageLabels::kNone;
  if (manifest.has_value()) {
    options.labels = data::ImageLabels::kManifest;
    options.manifest = manifest->text;
  }
  options.decode = {color_from(color), max_pixels};
  options.cache_what = cache_from(cache);
  options.cache = {memory_bytes, disk_bytes, cache_directory.text};
  const nb::gil_scoped_release release;
  if (const auto* path = std::get_if<PathText>(&directory)) {
    new (self) ImageFolder(path->text, options);
  } else {
    new (self) ImageFolder(std::get<std::shared_ptr<data::Files>>(directory), options);
  }
}

}  // namespace

void bind_images(nb::module_& m) {
  m.def(
      "image_files",
      [](const PathText& directory) {
        data::TextList paths;
        data::list_images(directory.text, "", paths);
        std::vector<std::string> result;
        for (size_t i = 0; i < paths.size(); ++i) result.emplace_back(paths[i]);
        return result;
      },
      "directory"_a, nb::call_guard<nb::gil_scoped_release>(),
      "Paths within a directory of the files below it that have an image's extension, in order.");
  const data::ImageFolderOptions usual;
  nb::class_<data::Files>(m, "Files", "Files below a directory that is not one of this machine.")
      .def("list", &data::Files::list, nb::call_guard<nb::gil_scoped_release>(), "Their paths within the directory.")
      .def_prop_ro("name", &data::Files::name);
  nb::class_<ImageFolder, data::Dataset>(m, "ImageFolder", R"(Images of a directory; each folder in it is a class.

    thalweg.data.ImageFolder("photos", {"transforms": [{"name": "resize_shorter", "shorter": 256}, {"name": "center_crop"}]})

`directory` is a path, or remote_files(...) of an address. `pipeline` is as in JSON, or is JSON; what is absent keeps its default (include/thalweg/data/transforms.h). A `manifest`
has a line for each image: its path, a tab or comma, and its class. With labels=False there are no classes. Images of
more than `max_pixels` are refused. With `memory_bytes` or `disk_bytes`, so much of what was read once is kept: the
files' bytes, or with cache="pixels" their decoded pixels.)")
      .def("__init__", init_folder, "directory"_a, "pipeline"_a.none() = nb::none(), nb::kw_only(),
           "manifest"_a = nb::none(), "labels"_a = true, "color"_a = "rgb", "max_pixels"_a = usual.decode.max_pixels,
           "cache"_a = "files", "memory_bytes"_a = usual.cache.memory_bytes, "disk_bytes"_a = usual.cache.disk_bytes,
           "cache_directory"_a = usual.cache.directory)
      .def_prop_ro("classes", &ImageFolder::classes)
      .def("path", &ImageFolder::path, "index"_a, "Of the file of a sample.");
}

}  // namespace thalweg::python

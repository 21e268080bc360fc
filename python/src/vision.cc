// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <optional>

#include "loaded_annotations.h"
#include "thalweg/vision/coco.h"
#include "thalweg/vision/voc.h"
#include "tools.h"

namespace thalweg::python {
namespace {

using vision::Rle;

/// The engine's -1 stands for no number.
double score_or_nan(double value) { return value < 0 ? std::numeric_limits<double>::quiet_NaN() : value; }

std::map<int64_t, std::string> names_of(const vision::Annotations& annotations) {
  std::map<int64_t, std::string> names;
  for (const vision::Category& one : annotations.categories) names[one.id] = one.name;
  return names;
}

nb::dict coco_scores(const vision::Annotations& annotations, const std::vector<vision::Detection>& found,
                     const vision::CocoOptions& options) {
  vision::CocoScores scores;
  {
    const nb::gil_scoped_release release;
    scores = evaluate_coco(annotations, found, options);
  }
  nb::dict result;
  for (size_t i = 0; i < scores.values.size(); ++i) {
    result[vision::coco_score_names()[i]] = score_or_nan(scores.values[i]);
  }
  nb::dict categories;
  const auto names = names_of(annotations);
  for (const vision::CategoryScores& one : scores.categories) {
    nb::dict of_category;
    of_category["AP"] = score_or_nan(one.ap);
    of_category["AP50"] = score_or_nan(one.ap50);
    categories[names.at(one.category).c_str()] = of_category;
  }
  result["by_category"] = categories;
  result["unknown_category"] = scores.unknown_category;
  result["without_mask"] = scores.without_mask;
  return result;
}

nb::dict voc_scores(const vision::Annotations& annotations, const std::vector<vision::Detection>& found,
                    vision::VocArea area) {
  vision::VocScores scores;
  {
    const nb::gil_scoped_release release;
    scores = evaluate_voc(annotations, found, {.area = area});
  }
  nb::dict result;
  result["mAP"] = score_or_nan(scores.mean);
  nb::dict categories;
  const auto names = names_of(annotations);
  for (const auto& one : scores.categories) categories[names.at(one.category).c_str()] = score_or_nan(one.ap);
  result["by_category"] = categories;
  return result;
}

nb::dict evaluate(nb::handle truth, nb::handle detections, const std::string& kind, double dilation_ratio, bool strict,
                  const MaybeFiles& files, int threads) {
  using Kind = vision::OverlapKind;
  static const std::map<std::string, Kind> kKinds = {
      {"box", Kind::kBox}, {"mask", Kind::kMask}, {"boundary", Kind::kBoundary}};
  const bool is_voc = kind == "voc" || kind == "voc07";
  const auto overlap = kKinds.find(kind);
  if (!is_voc && overlap == kKinds.end()) {
    raise_input_error("kind is '", kind, "', not box, mask, boundary, voc or voc07");
  }
  std::optional<LoadedAnnotations> made_truth;
  std::optional<LoadedDetections> made_found;
  if (!nb::isinstance<LoadedAnnotations>(truth)) made_truth = load_annotations(truth, files, strict);
  if (!nb::isinstance<LoadedDetections>(detections)) made_found = load_detections(detections, files);
  const data::ReadAnnotations& read = made_truth ? made_truth->read : nb::cast<const LoadedAnnotations&>(truth).read;
  const auto& found = made_found ? made_found->found : nb::cast<const LoadedDetections&>(detections).found;
  const auto area = kind == "voc" ? vision::VocArea::kWhole : vision::VocArea::kElevenPoints;
  nb::dict result = is_voc ? voc_scores(read.annotations, found, area)
                           : coco_scores(read.annotations, found, {overlap->second, dilation_ratio, threads});
  result["problems"] = nb::cast(read.problems.kinds);
  return result;
}

nb::dict dict_of(const Rle& mask) {
  nb::dict result;
  result["size"] = nb::cast(std::vector<int64_t>{mask.height(), mask.width()});
  result["counts"] = nb::cast(mask.text());
  return result;
}

/// As rle_encode gives it; counts may be bytes, as pycocotools has them, or a list of runs.
Rle rle_from(const nb::dict& given) {
  if (!given.contains("size") || !given.contains("counts")) raise_input_error("a mask as runs has 'size' and 'counts'");
  const auto size = nb::cast<std::vector<int64_t>>(given["size"]);
  if (size.size() != 2) raise_input_error("the size of a mask is [height, width], not ", size.size(), " numbers");
  const nb::object counts = given["counts"];
  if (PyBytes_Check(counts.ptr())) {
    const auto bytes = nb::borrow<nb::bytes>(counts);
    return Rle::from_text(size[0], size[1], {bytes.c_str(), bytes.size()});
  }
  if (PyUnicode_Check(counts.ptr())) return Rle::from_text(size[0], size[1], nb::cast<std::string>(counts));
  return Rle::from_counts(size[0], size[1], nb::cast<std::vector<int64_t>>(counts));
}

std::vector<Rle> rles_from(const std::vector<nb::dict>& given) {
  std::vector<Rle> result;
  result.reserve(given.size());
  for (const nb::dict& one : given) result.push_back(rle_from(one));
  return result;
}

/// [detections, truths]; `crowd` has one for each truth, or is empty.
template <typename Item>
Tensor overlaps(const std::vector<Item>& detections, const std::vector<Item>& truths, const std::vector<bool>& crowd) {
  if (!crowd.empty() && crowd.size() != truths.size()) {
    raise_input_error("crowd has ", crowd.size(), " values for ", truths.size(), " objects");
  }
  const nb::gil_scoped_release release;
  Tensor result(DType::kF64, {static_cast<int64_t>(detections.size()), static_cast<int64_t>(truths.size())});
  auto* value = result.data<double>();
  for (const Item& detection : detections) {
    for (size_t i = 0; i < truths.size(); ++i) *value++ = iou(detection, truths[i], !crowd.empty() && crowd[i]);
  }
  return result;
}

std::vector<vision::Box> boxes_from(const Tensor& given) {
  if (given.shape().rank() != 2 || given.shape()[1] != 4) {
    raise_input_error("boxes are [N, 4] of x, y, width and height, got ", given.type());
  }
  const Tensor numbers = given.to(DType::kF64);
  std::vector<vision::Box> boxes;
  for (int64_t i = 0; i < given.shape()[0]; ++i) {
    const double* box = numbers.data<double>() + 4 * i;
    boxes.push_back({box[0], box[1], box[2], box[3]});
  }
  return boxes;
}

nb::dict voc_as_coco(const PathText& directory, const std::string& list, const MaybeFiles& files, bool strict) {
  data::ReadAnnotations read;
  {
    const nb::gil_scoped_release release;
    const data::VocFolderOptions options{strict, list};
    read = files ? data::read_voc(*files, options) : data::read_voc(directory.text, options);
  }
  nb::list images, categories, annotations;
  for (const vision::Picture& one : read.annotations.pictures) {
    nb::dict image;
    image["id"] = one.id;
    image["height"] = one.height;
    image["width"] = one.width;
    image["file_name"] = one.file;
    images.append(image);
  }
  for (const vision::Category& one : read.annotations.categories) {
    nb::dict category;
    category["id"] = one.id;
    category["name"] = one.name;
    categories.append(category);
  }
  for (const vision::Object& one : read.annotations.objects) {
    nb::dict object;
    object["id"] = one.id;
    object["image_id"] = one.picture;
    object["category_id"] = one.category;
    object["bbox"] = nb::cast(std::vector<double>{one.box.x, one.box.y, one.box.width, one.box.height});
    object["area"] = one.area;
    object["iscrowd"] = one.crowd ? 1 : 0;
    annotations.append(object);
  }
  nb::dict result;
  result["images"] = images;
  result["categories"] = categories;
  result["annotations"] = annotations;
  return result;
}

void bind_masks(nb::module_& m) {
  m.def(
      "rle_encode", [](nb::handle mask) { return dict_of(Rle::from_mask(to_tensor(mask))); }, "mask"_a,
      "{'size': [height, width], 'counts': text} of an array [height, width]; what is not 0 is inside.");
  m.def(
      "rle_decode", [](const nb::dict& rle) { return rle_from(rle).mask(); }, "rle"_a,
      "The uint8 array [height, width] of 0 and 1; counts may be text, bytes or a list of runs.");
  m.def(
      "rle_of_polygons",
      [](const std::vector<vision::Polygon>& polygons, int64_t height, int64_t width) {
        return dict_of(Rle::from_polygons(height, width, polygons));
      },
      "polygons"_a, "height"_a, "width"_a,
      "What any of the polygons, each [x0, y0, x1, y1, ...], covers, pixel for pixel as COCO's tools draw them.");
  m.def(
      "rle_area", [](const nb::dict& rle) { return rle_from(rle).area(); }, "rle"_a, "Pixels inside.");
  m.def(
      "rle_box",
      [](const nb::dict& rle) {
        const vision::Box box = rle_from(rle).bounding_box();
        return std::vector<double>{box.x, box.y, box.width, box.height};
      },
      "rle"_a, "[x, y, width, height] around the pixels inside.");
  m.def(
      "rle_boundary", [](const nb::dict& rle, double ratio) { return dict_of(vision::boundary(rle_from(rle), ratio)); },
      "rle"_a, "ratio"_a,
      "The pixels of a mask near its outside, in a width that is a share of the picture's diagonal.");
  m.def(
      "rle_iou",
      [](const std::vector<nb::dict>& detections, const std::vector<nb::dict>& truths, const std::vector<bool>& crowd) {
        return overlaps(rles_from(detections), rles_from(truths), crowd);
      },
      "detections"_a, "truths"_a, "crowd"_a = std::vector<bool>(),
      "Intersection over union of each with each, [detections, truths]; with crowds over the detection's area.");
  m.def(
      "box_iou",
      [](nb::handle detections, nb::handle truths, const std::vector<bool>& crowd) {
        return overlaps(boxes_from(to_tensor(detections)), boxes_from(to_tensor(truths)), crowd);
      },
      "detections"_a, "truths"_a, "crowd"_a = std::vector<bool>(), "As rle_iou, of boxes [N, 4].");
}

}  // namespace

void bind_vision(nb::module_& module) {
  nb::module_ m = module.def_submodule("vision", "Masks, boxes, and how good detections are.");
  bind_masks(m);
  const bool usually_strict = data::AnnotationOptions().strict;
  nb::class_<LoadedAnnotations>(m, "Annotations", "An instances file of COCO's, or the dict that it holds, read once.")
      .def(
          "__init__",
          [](LoadedAnnotations* self, nb::handle source, const MaybeFiles& files, bool strict) {
            new (self) LoadedAnnotations(load_annotations(source, files, strict));
          },
          "source"_a, nb::kw_only(), "files"_a.none() = nb::none(), "strict"_a = usually_strict)
      .def_prop_ro(
          "problems", [](const LoadedAnnotations& self) { return self.read.problems.kinds; },
          "How often each kind of problem came up.")
      .def("__len__", [](const LoadedAnnotations& self) { return self.read.annotations.objects.size(); });
  nb::class_<LoadedDetections>(m, "Detections", "A results file of COCO's, or the list that it holds, read once.")
      .def(
          "__init__",
          [](LoadedDetections* self, nb::handle source, const MaybeFiles& files) {
            new (self) LoadedDetections(load_detections(source, files));
          },
          "source"_a, nb::kw_only(), "files"_a.none() = nb::none())
      .def("__len__", [](const LoadedDetections& self) { return self.found.size(); });
  const vision::CocoOptions usual;
  m.def("evaluate", evaluate, "truth"_a, "detections"_a, "kind"_a = "box", nb::kw_only(),
        "dilation_ratio"_a = usual.dilation_ratio, "strict"_a = usually_strict, "files"_a.none() = nb::none(),
        "threads"_a = usual.threads,
        R"(How good detections are, by COCO's rules.

`truth` is an instances file of COCO's, the dict that it holds, or Annotations; `detections` a results file, its list, or
Detections. `kind` is
"box", "mask" or "boundary", which give COCO's 12 numbers by name, or "voc" or "voc07" (at 11 points), which give "mAP".
NaN stands for numbers that nothing is known about. "problems" counts what was wrong with single annotations; with
strict=True the first is an error. `files` is remote_files(...) of an address if the paths are within it.)");
  m.def("read_voc", voc_as_coco, "directory"_a, "list"_a = data::VocFolderOptions().list, nb::kw_only(),
        "files"_a.none() = nb::none(), "strict"_a = data::VocFolderOptions().strict,
        R"(The annotations of a folder as of PASCAL VOC as the dict of an instances file of COCO's.

`list` is the file within it that names the pictures, as "ImageSets/Main/val.txt". With `files`, remote_files(...) of an
address, that is the folder.)");
}

}  // namespace thalweg::python

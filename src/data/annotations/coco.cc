// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>

#include "data/annotations/json_records.h"
#include "data/annotations/problems.h"
#include "data/annotations/segmentation_json.h"
#include "data/file_bytes.h"
#include "thalweg/error.h"

namespace thalweg::data {
namespace {

using Json = nlohmann::json;
using vision::Object;

vision::Box box_of(const Record& record) {
  const std::vector<double> numbers = record.numbers("bbox", 4);
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
}

/// Takes the records of an instances file, in whatever order its lists come.
class InstancesReader {
 public:
  InstancesReader(std::string name, const AnnotationOptions& options)
      : name_(std::move(name)), problems_(name_, options.strict) {}

  void add(const std::string& list, size_t index, const Json& json) {
    const std::string place = list + "[" + std::to_string(index) + "]";
    const Record record(json, name_ + ": " + place);
    if (list == "images") add_picture(record, place);
    if (list == "categories") add_category(record, place);
    if (list == "annotations") add_object(record, place);
  }

  /// What depends on lists that may have come later.
  ReadAnnotations finish() {
    std::vector<Object>& objects = result_.annotations.objects;
    size_t kept = 0;
    for (size_t i = 0; i < objects.size(); ++i) {
      if (!check(objects[i], places_[i])) continue;
      if (kept != i) objects[kept] = std::move(objects[i]);
      ++kept;
    }
    objects.resize(kept);
    result_.problems = problems_.take();
    return std::move(result_);
  }

 private:
  void add_picture(const Record& record, const std::string& place) {
    vision::Picture picture{record.whole("id"), record.whole("height", 0), record.whole("width", 0),
                            record.text("file_name", "")};
    const auto is_side = [](int64_t side) { return side >= 0 && side <= vision::kMostMaskSide; };
    TW_REQUIRE(is_side(picture.height) && is_side(picture.width), record.place(), ": a picture of ", picture.width,
               " x ", picture.height, " pixels");
    if (!pictures_.emplace(picture.id, result_.annotations.pictures.size()).second) {
      problems_.add(problem::kListedTwice, place, "picture " + std::to_string(picture.id) + "; the first counts");
      return;
    }
    result_.annotations.pictures.push_back(std::move(picture));
  }

  void add_category(const Record& record, const std::string& place) {
    vision::Category category{record.whole("id"), record.text("name", "")};
    if (!categories_.emplace(category.id, category.name).second) {
      problems_.add(problem::kListedTwice, place, "category " + std::to_string(category.id) + "; the first counts");
      return;
    }
    result_.annotations.categories.push_back(std::move(category));
  }

  void add_object(const Record& record, const std::string& place) {
    Object object;
    object.id = record.whole("id", 0);
    object.picture = record.whole("image_id");
    object.category = record.whole("category_id");
    object.crowd = record.whole("iscrowd", 0) != 0;
    try {
      if (record.has("segmentation")) {
        object.segmentation = segmentation_of(record.at("segmentation"), place, problems_);
      }
    } catch (const NoMask& error) {
      problems_.add(problem::kMask, place, error.what());
    }
    const auto* mask = std::get_if<vision::Rle>(&object.segmentation);
    if (record.has("bbox") || mask == nullptr) {
      object.box = box_of(record);
    } else {
      object.box = mask->bounding_box();
    }
    const double usual = mask != nullptr ? static_cast<double>(mask->area()) : vision::area(object.box);
    object.area = record.number("area", usual);
    result_.annotations.objects.push_back(std::move(object));
    places_.push_back(place);
  }

  /// False if the object is to be left out.
  bool check(Object& object, const std::string& place) {
    const auto picture = pictures_.find(object.picture);
    if (picture == pictures_.end()) {
      problems_.add(problem::kUnknownPicture, place, std::to_string(object.picture) + "; left out");
      return false;
    }
    if (categories_.count(object.category) == 0) {
      problems_.add(problem::kUnknownCategory, place, std::to_string(object.category) + "; left out");
      return false;
    }
    const vision::Picture& in = result_.annotations.pictures[picture->second];
    check_box(object, in, place, problems_);
    const auto* mask = std::get_if<vision::Rle>(&object.segmentation);
    const bool fits = mask == nullptr || in.height == 0 || (mask->height() == in.height && mask->width() == in.width);
    if (!fits) {
      problems_.add(problem::kMask, place, "its size is not that of the picture");
      object.segmentation = {};
    }
    return true;
  }

  const std::string name_;
  ProblemList problems_;
  ReadAnnotations result_;
  /// Of the objects.
  std::vector<std::string> places_;
  std::unordered_map<int64_t, size_t> pictures_;
  std::unordered_map<int64_t, std::string> categories_;
};

/// Takes the records of a results file.
class ResultsReader {
 public:
  explicit ResultsReader(std::string name) : name_(std::move(name)) {}

  void add(const std::string& list, size_t index, const Json& json) {
    TW_REQUIRE(list.empty(), name_, ": is no list of detections, but an object with lists");
    const Record record(json, name_ + ": [" + std::to_string(index) + "]");
    if (index == 0) has_boxes_ = record.has("bbox") && !record.at("bbox").empty();
    vision::Detection detection;
    detection.picture = record.whole("image_id");
    detection.category = record.whole("category_id");
    detection.score = record.number("score");
    if (record.has("segmentation")) detection.segmentation = mask_of(record);
    if (has_boxes_) {
      detection.box = box_of(record);
      detection.area = vision::area(detection.box);
    } else {
      const auto* mask = std::get_if<vision::Rle>(&detection.segmentation);
      TW_REQUIRE(mask != nullptr, record.place(), ": has no box as bbox, nor a mask of runs as segmentation");
      detection.area = static_cast<double>(mask->area());
      detection.box = record.has("bbox") ? box_of(record) : mask->bounding_box();
    }
    detections_.push_back(std::move(detection));
  }

  std::vector<vision::Detection> take() { return std::move(detections_); }

 private:
  vision::Segmentation mask_of(const Record& record) const {
    try {
      ProblemList problems(record.place(), true);
      return segmentation_of(record.at("segmentation"), "segmentation", problems);
    } catch (const NoMask& error) {
      raise(record.place(), ": segmentation: ", error.what());
    }
  }

  const std::string name_;
  bool has_boxes_ = false;
  std::vector<vision::Detection> detections_;
};

std::string_view text_of(const std::vector<uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<uint8_t> bytes_of(const std::string& path) {
  std::vector<uint8_t> bytes;
  read_file(path, bytes);
  return bytes;
}

std::vector<uint8_t> bytes_of(const Files& files, const std::string& path) {
  std::vector<uint8_t> bytes;
  files.read(path, bytes, kMostFileBytes);
  return bytes;
}

}  // namespace

ReadAnnotations parse_coco(std::string_view json, const std::string& name, const AnnotationOptions& options) {
  InstancesReader reader(name, options);
  bool has_pictures = false;
  for_each_record(json, name, [&](const std::string& list, size_t index, const Json& record) {
    has_pictures = has_pictures || list == "images";
    reader.add(list, index, record);
  });
  TW_REQUIRE(has_pictures, name, ": has no list 'images' with a picture; is it an instances file of COCO's?");
  return reader.finish();
}

ReadAnnotations read_coco(const std::string& path, const AnnotationOptions& options) {
  return parse_coco(text_of(bytes_of(path)), path, options);
}

ReadAnnotations read_coco(const Files& files, const std::string& path, const AnnotationOptions& options) {
  return parse_coco(text_of(bytes_of(files, path)), files.name() + "/" + path, options);
}

std::vector<vision::Detection> parse_coco_results(std::string_view json, const std::string& name) {
  ResultsReader reader(name);
  for_each_record(json, name,
                  [&](const std::string& list, size_t index, const Json& record) { reader.add(list, index, record); });
  return reader.take();
}

std::vector<vision::Detection> read_coco_results(const std::string& path) {
  return parse_coco_results(text_of(bytes_of(path)), path);
}

std::vector<vision::Detection> read_coco_results(const Files& files, const std::string& path) {
  return parse_coco_results(text_of(bytes_of(files, path)), files.name() + "/" + path);
}

}  // namespace thalweg::data

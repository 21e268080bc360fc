// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "base/text.h"
#include "data/annotations/problems.h"
#include "data/annotations/xml.h"
#include "data/file_bytes.h"
#include "data/file_list.h"
#include "thalweg/error.h"

namespace thalweg::data {
namespace {

/// An annotation file has some kilobytes.
constexpr int64_t kMostXmlBytes = int64_t{16} << 20;
constexpr const char* kFolder = "Annotations/";
constexpr std::string_view kEnding = ".xml";

/// VOC's own classes, in the order of their names, which is that of their numbers.
constexpr std::array<const char*, 20> kVocClasses = {
    "aeroplane",   "bicycle", "bird",  "boat",      "bottle", "bus",         "car",   "cat",  "chair", "cow",
    "diningtable", "dog",     "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor"};

/// The directory, wherever it is.
class Directory {
 public:
  explicit Directory(const std::string& path) : name_(path) {}
  explicit Directory(const Files& files) : name_(files.name()), files_(&files) {}

  const std::string& name() const { return name_; }

  std::string read(const std::string& path, int64_t most) const {
    std::vector<uint8_t> bytes;
    if (files_ != nullptr) {
      files_->read(path, bytes, most);
    } else {
      read_file(name_ + "/" + path, bytes, most);
    }
    return {bytes.begin(), bytes.end()};
  }

  /// Names of the pictures that have annotations, in order.
  std::vector<std::string> stems() const {
    std::vector<std::string> result;
    const auto add = [&](std::string_view file) {
      if (file.ends_with(kEnding)) result.emplace_back(file.substr(0, file.size() - kEnding.size()));
    };
    if (files_ == nullptr) {
      for (const std::string& file : list_directory(name_ + "/" + kFolder).files) add(file);
    } else {
      for (const std::string& path : files_->list()) {
        const std::string_view file = path;
        if (file.starts_with(kFolder)) add(file.substr(std::string_view(kFolder).size()));
      }
    }
    TW_REQUIRE(!result.empty(), name_, ": holds no annotations as ", kFolder, "*", kEnding);
    return result;
  }

 private:
  const std::string name_;
  const Files* files_ = nullptr;
};

/// Lines may have a second word, as the lists of a single class do.
std::vector<std::string> listed_stems(const Directory& directory, const std::string& list) {
  constexpr int64_t kMostListBytes = int64_t{64} << 20;
  std::istringstream text(directory.read(list, kMostListBytes));
  std::vector<std::string> stems;
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string stem;
    if (!(words >> stem)) continue;
    TW_REQUIRE(stem.find('/') == std::string::npos && !stem.starts_with('.'), directory.name(), "/", list,
               ": has the line ", printable(line), ", which is no name of a picture");
    stems.push_back(stem);
  }
  TW_REQUIRE(!stems.empty(), directory.name(), "/", list, ": names no picture");
  return stems;
}

/// The digits of a name; none if there are other characters than _, or too many.
std::optional<int64_t> number_of(const std::string& stem) {
  constexpr size_t kMostDigits = 18;
  std::string digits;
  for (const char one : stem) {
    if (one == '_') continue;
    if (one < '0' || one > '9') return std::nullopt;
    digits.push_back(one);
  }
  if (digits.empty() || digits.size() > kMostDigits) return std::nullopt;
  return std::stoll(digits);
}

std::vector<int64_t> ids_of(const std::vector<std::string>& stems) {
  std::vector<int64_t> ids;
  std::set<int64_t> seen;
  for (const std::string& stem : stems) {
    const std::optional<int64_t> number = number_of(stem);
    if (number && seen.insert(*number).second) ids.push_back(*number);
  }
  if (ids.size() == stems.size()) return ids;
  ids.resize(stems.size());
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i) + 1;
  return ids;
}

std::optional<double> number_in(const XmlElement& parent, std::string_view name) {
  const XmlElement* child = parent.child(name);
  if (child == nullptr) return std::nullopt;
  double value = 0;
  const std::string& text = child->text;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = failure == std::errc() && end == text.data() + text.size() && std::abs(value) <= 1e8;
  return is_number ? std::optional(value) : std::nullopt;
}

/// Collects pictures and objects; objects refer to categories by name until all names are known.
class VocReader {
 public:
  VocReader(std::string name, bool strict) : name_(std::move(name)), problems_(name_, strict) {}

  void add(const std::string& stem, int64_t id, const std::string& xml) {
    const std::string file = kFolder + stem + std::string(kEnding);
    const XmlElement root = parse_xml(xml, name_ + "/" + file);
    vision::Picture picture{id, 0, 0, "JPEGImages/" + stem + ".jpg"};
    if (const XmlElement* given = root.child("filename"); given != nullptr && !given->text.empty()) {
      TW_REQUIRE(given->text.find('/') == std::string::npos && !given->text.starts_with('.'), name_, "/", file,
                 ": the picture's name is ", printable(given->text));
      picture.file = "JPEGImages/" + given->text;
    }
    if (const XmlElement* size = root.child("size"); size != nullptr) {
      picture.height = side(*size, "height");
      picture.width = side(*size, "width");
    }
    size_t number = 0;
    for (const XmlElement& child : root.children) {
      if (child.name == "object") add_object(child, picture, file + ": object " + std::to_string(number++));
    }
    result_.annotations.pictures.push_back(std::move(picture));
  }

  ReadAnnotations finish() {
    std::set<std::string> classes(names_.begin(), names_.end());
    const std::set<std::string> usual(kVocClasses.begin(), kVocClasses.end());
    // A part of VOC's pictures need not have all classes.
    if (std::includes(usual.begin(), usual.end(), classes.begin(), classes.end())) classes = usual;
    std::map<std::string, int64_t> ids;
    for (const std::string& name : classes) {
      const auto id = static_cast<int64_t>(ids.size()) + 1;
      ids.emplace(name, id);
      result_.annotations.categories.push_back({id, name});
    }
    for (size_t i = 0; i < names_.size(); ++i) result_.annotations.objects[i].category = ids.at(names_[i]);
    result_.problems = problems_.take();
    return std::move(result_);
  }

 private:
  /// 0 if it is not said.
  static int64_t side(const XmlElement& size, std::string_view name) {
    const double value = number_in(size, name).value_or(0.0);
    return value >= 0 && value <= static_cast<double>(vision::kMostMaskSide) ? static_cast<int64_t>(value) : 0;
  }

  void add_object(const XmlElement& element, const vision::Picture& picture, const std::string& place) {
    const XmlElement* name = element.child("name");
    if (name == nullptr || name->text.empty()) {
      problems_.add(problem::kUnknownCategory, place, "it has no name; left out");
      return;
    }
    const XmlElement* corners = element.child("bndbox");
    std::array<std::optional<double>, 4> values;
    if (corners != nullptr) {
      values = {number_in(*corners, "xmin"), number_in(*corners, "ymin"), number_in(*corners, "xmax"),
                number_in(*corners, "ymax")};
    }
    if (!std::all_of(values.begin(), values.end(), [](const auto& value) { return value.has_value(); })) {
      problems_.add(problem::kBox, place, "it has no bndbox of four numbers; left out");
      return;
    }
    vision::Object object;
    object.id = static_cast<int64_t>(result_.annotations.objects.size()) + 1;
    object.picture = picture.id;
    // Corners are pixels, counted from 1, that belong to the box.
    object.box = {*values[0] - 1, *values[1] - 1, *values[2] - *values[0] + 1, *values[3] - *values[1] + 1};
    object.area = vision::area(object.box);
    object.crowd = number_in(element, "difficult").value_or(0.0) != 0.0;
    check_box(object, picture, place, problems_);
    names_.push_back(name->text);
    result_.annotations.objects.push_back(std::move(object));
  }

  const std::string name_;
  ProblemList problems_;
  ReadAnnotations result_;
  /// The category of each object.
  std::vector<std::string> names_;
};

ReadAnnotations read(const Directory& directory, const VocFolderOptions& options) {
  const std::vector<std::string> stems =
      options.list.empty() ? directory.stems() : listed_stems(directory, options.list);
  const std::vector<int64_t> ids = ids_of(stems);
  VocReader reader(directory.name(), options.strict);
  for (size_t i = 0; i < stems.size(); ++i) {
    reader.add(stems[i], ids[i], directory.read(kFolder + stems[i] + std::string(kEnding), kMostXmlBytes));
  }
  return reader.finish();
}

}  // namespace

ReadAnnotations read_voc(const std::string& directory, const VocFolderOptions& options) {
  return read(Directory(directory), options);
}

ReadAnnotations read_voc(const Files& files, const VocFolderOptions& options) {
  return read(Directory(files), options);
}

}  // namespace thalweg::data

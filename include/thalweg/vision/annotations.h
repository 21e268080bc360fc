// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "thalweg/vision/boxes.h"
#include "thalweg/vision/rle.h"

/// What is known about the objects in pictures, and what a model found; data/annotations.h reads both from files.
namespace thalweg::vision {

/// Nothing, polygons in pixels of the picture, or a mask of the picture's size.
using Segmentation = std::variant<std::monostate, std::vector<Polygon>, Rle>;

struct Picture {
  int64_t id = 0;
  /// 0 if it is not known, which only masks need.
  int64_t height = 0;
  int64_t width = 0;
  /// Its path within the folder of pictures.
  std::string file = {};
};

struct Category {
  int64_t id = 0;
  std::string name;
};

struct Object {
  /// For messages.
  int64_t id = 0;
  /// Ids of a picture and of a category.
  int64_t picture = 0;
  int64_t category = 0;
  Box box;
  /// In pixels, by which objects are small, medium or large: in COCO's files that of the mask.
  double area = 0;
  /// COCO's crowd region, or VOC's difficult object: to find it is no success, and to miss it no failure.
  bool crowd = false;
  Segmentation segmentation = {};
};

struct Annotations {
  std::vector<Picture> pictures;
  std::vector<Category> categories;
  std::vector<Object> objects;
};

struct Detection {
  int64_t picture = 0;
  int64_t category = 0;
  double score = 0;
  Box box;
  double area = 0;
  /// Where there is none, the box stands for the mask.
  Segmentation segmentation = {};
};

}  // namespace thalweg::vision

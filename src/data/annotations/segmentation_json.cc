// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/annotations/segmentation_json.h"

#include <algorithm>
#include <cmath>

namespace thalweg::data {
namespace {

using Json = nlohmann::json;

bool are_numbers(const Json& list) {
  return list.is_array() && std::all_of(list.begin(), list.end(), [](const Json& one) { return one.is_number(); });
}

bool are_whole(const Json& list) {
  const auto is_whole = [](const Json& one) {
    return one.is_number_integer() && (!one.is_number_unsigned() || one.get<uint64_t>() <= uint64_t{INT64_MAX});
  };
  return list.is_array() && std::all_of(list.begin(), list.end(), is_whole);
}

std::vector<vision::Polygon> polygons_of(const Json& json, const std::string& place, ProblemList& problems) {
  constexpr size_t kLeastNumbers = 6;
  constexpr double kFurthest = 1e8;  // pixels
  std::vector<vision::Polygon> result;
  for (const Json& one : json) {
    if (!are_numbers(one)) throw NoMask("a polygon is no list of numbers");
    auto polygon = one.get<vision::Polygon>();
    if (polygon.size() < kLeastNumbers || polygon.size() % 2 != 0) {
      problems.add(problem::kPolygon, place, std::to_string(polygon.size()) + " numbers; left out");
      continue;
    }
    const bool is_near =
        std::all_of(polygon.begin(), polygon.end(), [](double value) { return std::abs(value) <= kFurthest; });
    if (!is_near) throw NoMask("a polygon has a corner far outside of any picture");
    result.push_back(std::move(polygon));
  }
  if (result.empty()) throw NoMask("it has no polygon");
  return result;
}

vision::Rle runs_of(const Json& json) {
  const bool has_size = json.contains("size") && are_whole(json.at("size")) && json.at("size").size() == 2;
  if (!has_size || !json.contains("counts")) throw NoMask("it has no size of two whole numbers, or no counts");
  const auto height = json.at("size")[0].get<int64_t>();
  const auto width = json.at("size")[1].get<int64_t>();
  const Json& counts = json.at("counts");
  try {
    if (counts.is_string()) return vision::Rle::from_text(height, width, counts.get_ref<const std::string&>());
    if (are_whole(counts)) return vision::Rle::from_counts(height, width, counts.get<std::vector<int64_t>>());
  } catch (const Error& error) {
    throw NoMask(error.what());
  }
  throw NoMask("counts are neither a text nor a list of whole numbers");
}

}  // namespace

vision::Segmentation segmentation_of(const Json& json, const std::string& place, ProblemList& problems) {
  if (json.is_array()) return polygons_of(json, place, problems);
  if (json.is_object()) return runs_of(json);
  throw NoMask("it is neither a list of polygons nor an object with runs");
}

}  // namespace thalweg::data

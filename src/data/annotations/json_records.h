// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace thalweg::data {

/// Gets an object of a list, the list's key ("" if the file is the list) and its place in it.
using VisitRecord = std::function<void(const std::string& list, size_t index, const nlohmann::json& record)>;

/// Reads JSON that is a list of objects, or an object with such lists, an object of a list at a time, so that no more
/// of it is in memory than the text and that one. Throws Error that begins with `name` if it is no such JSON, or nested
/// or large beyond what annotations are.
void for_each_record(std::string_view json, const std::string& name, const VisitRecord& visit);

/// A record with its name for messages: "instances.json: annotations[7]". Members that are missing or of another kind
/// are Errors that begin with it.
class Record {
 public:
  Record(const nlohmann::json& json, std::string place) : json_(json), place_(std::move(place)) {}

  const std::string& place() const { return place_; }
  bool has(const char* key) const;
  const nlohmann::json& at(const char* key) const;
  int64_t whole(const char* key) const;
  int64_t whole(const char* key, int64_t otherwise) const { return has(key) ? whole(key) : otherwise; }
  double number(const char* key) const;
  double number(const char* key, double otherwise) const { return has(key) ? number(key) : otherwise; }
  std::string text(const char* key, const std::string& otherwise) const;
  /// As many numbers as `count`.
  std::vector<double> numbers(const char* key, size_t count) const;
  template <typename... Parts>
  [[noreturn]] void fail(const Parts&... parts) const;

 private:
  const nlohmann::json& json_;
  std::string place_;
};

}  // namespace thalweg::data

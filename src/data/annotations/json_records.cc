// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/annotations/json_records.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "thalweg/error.h"

namespace thalweg::data {
namespace {

using Json = nlohmann::json;

/// Within a record; COCO's own need three.
constexpr size_t kDeepest = 16;
/// In a record. No outline has a million corners; each value takes 16 bytes.
constexpr size_t kMostValues = size_t{1} << 22;

/// Receives the parser's events. The names of the functions are nlohmann's.
class RecordReader {
 public:
  RecordReader(std::string name, const VisitRecord& visit) : name_(std::move(name)), visit_(visit) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(int64_t value) { return add(value); }
  bool number_unsigned(uint64_t value) { return add(value); }
  bool number_float(double value, const std::string& /*text*/) { return add(value); }
  bool string(std::string& text) { return add(std::move(text)); }
  bool binary(Json::binary_t& /*bytes*/) { return true; }

  bool start_object(size_t /*size*/) { return start(Json::object()); }
  bool start_array(size_t /*size*/) { return start(Json::array()); }
  bool end_object() { return end(); }
  bool end_array() { return end(); }

  bool key(std::string& text) {
    key_ = std::move(text);
    return true;
  }

  bool parse_error(size_t position, const std::string& /*token*/, const Json::exception& error) {
    raise(name_, ": is not JSON at its byte ", position, ": ", error.what());
  }

 private:
  bool is_in_list() const { return open_.size() == (root_is_list_ ? 1 : 2) && open_.back(); }

  bool start(Json container) {
    const bool is_list = container.is_array();
    if (open_.empty()) root_is_list_ = is_list;
    if (building_.empty() && is_in_list() && !is_list) {
      record_ = std::move(container);
      building_ = {&record_};
      values_ = 0;
    } else if (!building_.empty()) {
      building_.push_back(place(std::move(container)));
    } else if (open_.size() == 1 && !root_is_list_) {
      list_ = key_;
      index_ = 0;
    }
    open_.push_back(is_list);
    TW_REQUIRE(open_.size() <= kDeepest, name_, ": is nested ", kDeepest, " deep");
    return true;
  }

  bool end() {
    open_.pop_back();
    if (building_.empty()) return true;
    building_.pop_back();
    if (building_.empty()) visit_(list_, index_++, record_);
    return true;
  }

  bool add(Json value) {
    TW_REQUIRE(!open_.empty(), name_, ": holds no list or object");
    if (!building_.empty()) place(std::move(value));
    return true;
  }

  /// Puts a value into what is being built, and says where it lies.
  Json* place(Json value) {
    TW_REQUIRE(++values_ <= kMostValues, name_, ": ", list_, "[", index_, "] holds more than ", kMostValues, " values");
    Json& parent = *building_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    Json& member = parent[key_];
    member = std::move(value);
    return &member;
  }

  const std::string name_;
  const VisitRecord& visit_;
  /// Of what is open, from the outermost on, whether it is a list.
  std::vector<bool> open_;
  bool root_is_list_ = false;
  std::string list_, key_;
  size_t index_ = 0;
  Json record_;
  size_t values_ = 0;
  /// What of the record is open. An element of a list that grows is only the last, so these stay where they are.
  std::vector<Json*> building_;
};

}  // namespace

void for_each_record(std::string_view json, const std::string& name, const VisitRecord& visit) {
  RecordReader reader(name, visit);
  Json::sax_parse(json.begin(), json.end(), &reader);
}

template <typename... Parts>
[[noreturn]] void Record::fail(const Parts&... parts) const {
  raise(place_, ": ", parts...);
}

bool Record::has(const char* key) const { return json_.contains(key) && !json_.at(key).is_null(); }

const Json& Record::at(const char* key) const {
  if (!has(key)) fail("has no ", key);
  return json_.at(key);
}

int64_t Record::whole(const char* key) const {
  const Json& value = at(key);
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX}) fail(key, " is too large");
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  // Programs that keep everything as floating numbers write 7.0.
  constexpr double kExact = 9007199254740992.0;
  if (!value.is_number_float() || value.get<double>() != std::trunc(value.get<double>()) ||
      std::abs(value.get<double>()) > kExact) {
    fail(key, " is no whole number");
  }
  return static_cast<int64_t>(value.get<double>());
}

double Record::number(const char* key) const {
  const Json& value = at(key);
  if (!value.is_number()) fail(key, " is no number");
  return value.get<double>();
}

std::string Record::text(const char* key, const std::string& otherwise) const {
  if (!has(key)) return otherwise;
  if (!at(key).is_string()) fail(key, " is no text");
  return at(key).get<std::string>();
}

std::vector<double> Record::numbers(const char* key, size_t count) const {
  const Json& value = at(key);
  const bool fits = value.is_array() && value.size() == count &&
                    std::all_of(value.begin(), value.end(), [](const Json& one) { return one.is_number(); });
  if (!fits) fail(key, " is no list of ", count, " numbers");
  return value.get<std::vector<double>>();
}

}  // namespace thalweg::data

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/safetensors_json.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "formats/safetensors_header.h"

namespace thalweg::formats {
namespace {

constexpr size_t kMaxRank = 64;

/// Receives the parser's events. The names of the functions are nlohmann's.
class HeaderReader {
 public:
  HeaderReader(JsonHeader& header, const std::string& path) : header_(header), path_(path) {}

  bool null() { unexpected("null"); }
  bool boolean(bool) { unexpected("a truth value"); }
  bool number_integer(int64_t value) { unexpected(std::to_string(value)); }
  bool number_float(double, const std::string& text) { unexpected(text); }
  bool binary(nlohmann::json::binary_t&) { unexpected("binary data"); }

  bool number_unsigned(uint64_t value) {
    if (place_ != Place::kShape && place_ != Place::kOffsets) unexpected(std::to_string(value));
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      unexpected(std::to_string(value));
    }
    numbers_.push_back(value);
    if (numbers_.size() > kMaxRank) fail("more than " + std::to_string(kMaxRank) + " numbers");
    return true;
  }

  bool string(std::string& text) {
    if (place_ == Place::kMetadata && !field_.empty()) {
      header_.metadata.emplace(key_, text);
    } else if (place_ == Place::kTensor && field_ == "dtype") {
      entry_.dtype = text;
    } else {
      unexpected("the text " + printable(text));
    }
    field_.clear();
    return true;
  }

  bool start_object(size_t) {
    if (place_ == Place::kStart) {
      place_ = Place::kRoot;
    } else if (place_ == Place::kRoot) {
      place_ = entry_.name == kMetadataKey ? Place::kMetadata : Place::kTensor;
      fields_.clear();
      field_.clear();
    } else {
      unexpected("an object");
    }
    return true;
  }

  bool key(std::string& text) {
    if (place_ == Place::kRoot) {
      entry_ = {};
      entry_.name = text;
      if (!names_.insert(text).second) fail("it comes twice");
      return true;
    }
    if (!fields_.insert(text).second) fail("the key " + printable(text) + " comes twice");
    if (place_ == Place::kMetadata) {
      key_ = text;
      field_ = "metadata";
    } else if (text == "dtype" || text == "shape" || text == "data_offsets") {
      field_ = text;
    } else {
      fail("unknown key " + printable(text));
    }
    return true;
  }

  bool start_array(size_t) {
    if (place_ != Place::kTensor || (field_ != "shape" && field_ != "data_offsets")) {
      unexpected("an array");
    }
    place_ = field_ == "shape" ? Place::kShape : Place::kOffsets;
    numbers_.clear();
    return true;
  }

  bool end_array() {
    if (place_ == Place::kShape) {
      entry_.shape.assign(numbers_.begin(), numbers_.end());
    } else {
      if (numbers_.size() != 2) fail("data_offsets must be two numbers");
      entry_.begin = numbers_[0];
      entry_.end = numbers_[1];
    }
    place_ = Place::kTensor;
    field_.clear();
    return true;
  }

  bool end_object() {
    if (place_ == Place::kTensor) {
      if (fields_.size() != 3) fail("dtype, shape and data_offsets must all be there");
      header_.entries.push_back(std::move(entry_));
    }
    place_ = place_ == Place::kRoot ? Place::kEnd : Place::kRoot;
    entry_ = {};
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception& error) {
    raise("safetensors file ", path_, ": the header is not JSON at its byte ", position, ": ", error.what());
  }

 private:
  enum class Place { kStart, kRoot, kMetadata, kTensor, kShape, kOffsets, kEnd };

  [[noreturn]] void unexpected(const std::string& what) const {
    fail(what + " where the format has none" + (field_.empty() ? "" : " (in " + field_ + ")"));
  }

  [[noreturn]] void fail(const std::string& problem) const {
    const bool in_tensor = place_ != Place::kStart && place_ != Place::kEnd;
    raise("safetensors file ", path_, ": ", in_tensor ? "tensor " + printable(entry_.name) : std::string("header"),
          ": ", problem);
  }

  JsonHeader& header_;
  const std::string& path_;
  Place place_ = Place::kStart;
  std::set<std::string> names_;
  std::set<std::string> fields_;  // of the current tensor or of the metadata
  std::string field_;             // whose value comes next
  std::string key_;               // of the metadata
  JsonEntry entry_;
  std::vector<uint64_t> numbers_;
};

}  // namespace

JsonHeader parse_header_json(std::string_view text, const std::string& path) {
  TW_REQUIRE(!text.empty() && text.front() == '{', "safetensors file ", path,
             ": the header does not start with '{'; is this a safetensors file?");
  JsonHeader header;
  HeaderReader reader(header, path);
  nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
  return header;
}

}  // namespace thalweg::formats

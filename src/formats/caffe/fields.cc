// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/caffe/fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/text.h"

namespace thalweg::caffe {
namespace {

/// Decimal, hexadecimal or octal, as C writes them.
std::optional<int64_t> read_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
  }
  int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (failure != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return negative ? -value : value;
}

std::optional<double> read_real(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.size() > 1 && (text.back() == 'f' || text.back() == 'F') && text.find("in") == std::string_view::npos) {
    text.remove_suffix(1);
  }
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

bool Fields::has(const std::string& field) const {
  asked_.insert(field);
  return message_ != nullptr && message_->find(field) != nullptr;
}

size_t Fields::count(const std::string& field) const {
  asked_.insert(field);
  return message_ == nullptr ? 0 : message_->all(field).size();
}

const Field* Fields::scalar(const std::string& field) const {
  if (!has(field)) return nullptr;
  const Field* found = message_->find(field);
  if (found->message != nullptr) fail(*found, "a value, not a message");
  return found;
}

void Fields::fail(const Field& field, const std::string& wanted) const {
  raise(where_, ": line ", field.line, ": ", name_, ".", field.name, " must be ", wanted,
        field.message == nullptr ? ", not " + printable(field.text) : "");
}

int64_t Fields::to_integer(const Field& field, int64_t low, int64_t high) const {
  const std::optional<int64_t> value = field.quoted ? std::nullopt : read_integer(field.text);
  if (!value.has_value() || *value < low || *value > high) {
    fail(field, "an integer from " + std::to_string(low) + " to " + std::to_string(high));
  }
  return *value;
}

double Fields::to_real(const Field& field) const {
  const std::optional<double> value = field.quoted ? std::nullopt : read_real(field.text);
  if (!value.has_value() || !std::isfinite(*value)) fail(field, "a finite number");
  return *value;
}

int64_t Fields::integer(const std::string& field, int64_t fallback, int64_t low, int64_t high) const {
  const Field* found = scalar(field);
  return found == nullptr ? fallback : to_integer(*found, low, high);
}

double Fields::real(const std::string& field, double fallback) const {
  const Field* found = scalar(field);
  return found == nullptr ? fallback : to_real(*found);
}

bool Fields::flag(const std::string& field, bool fallback) const {
  const Field* found = scalar(field);
  if (found == nullptr) return fallback;
  for (const char* yes : {"true", "True", "t", "1"}) {
    if (found->text == yes) return true;
  }
  for (const char* no : {"false", "False", "f", "0"}) {
    if (found->text == no) return false;
  }
  fail(*found, "true or false");
}

std::string Fields::text(const std::string& field, const std::string& fallback) const {
  const Field* found = scalar(field);
  return found == nullptr ? fallback : found->text;
}

std::string Fields::choice(const std::string& field, const std::string& fallback,
                           const std::vector<std::string>& choices, int first) const {
  const Field* found = scalar(field);
  if (found == nullptr) return fallback;
  if (std::find(choices.begin(), choices.end(), found->text) != choices.end()) return found->text;
  const std::optional<int64_t> number = read_integer(found->text);
  if (!number.has_value() || *number < first || *number - first >= static_cast<int64_t>(choices.size())) {
    fail(*found, "one of " + join(choices, ", "));
  }
  return choices[static_cast<size_t>(*number - first)];
}

std::vector<int64_t> Fields::integers(const std::string& field, int64_t low, int64_t high) const {
  std::vector<int64_t> values;
  asked_.insert(field);
  if (message_ == nullptr) return values;
  for (const Field* found : message_->all(field)) {
    if (found->message != nullptr) fail(*found, "an integer, not a message");
    values.push_back(to_integer(*found, low, high));
  }
  return values;
}

std::vector<double> Fields::reals(const std::string& field) const {
  std::vector<double> values;
  asked_.insert(field);
  if (message_ == nullptr) return values;
  for (const Field* found : message_->all(field)) {
    if (found->message != nullptr) fail(*found, "a number, not a message");
    values.push_back(to_real(*found));
  }
  return values;
}

std::vector<std::string> Fields::texts(const std::string& field) const {
  std::vector<std::string> values;
  asked_.insert(field);
  if (message_ == nullptr) return values;
  for (const Field* found : message_->all(field)) {
    if (found->message != nullptr) fail(*found, "a text, not a message");
    values.push_back(found->text);
  }
  return values;
}

std::vector<const Fields*> Fields::inners(const std::string& field) const {
  asked_.insert(field);
  std::vector<const Fields*> found;
  if (message_ == nullptr) return found;
  for (const Field* part : message_->all(field)) {
    if (part->message == nullptr) fail(*part, "a message in braces");
    found.push_back(&inner_.emplace_back(part->message.get(), where_, name_ + "." + field));
  }
  return found;
}

const Fields& Fields::inner(const std::string& field) const {
  const std::vector<const Fields*> found = inners(field);
  return found.empty() ? inner_.emplace_back(nullptr, where_, name_ + "." + field) : *found.back();
}

void Fields::require_all_asked() const {
  for (const Fields& part : inner_) part.require_all_asked();
  if (message_ == nullptr) return;
  for (const Field& field : message_->fields) {
    if (asked_.count(field.name) > 0) continue;
    const std::vector<std::string> known(asked_.begin(), asked_.end());
    raise(where_, ": line ", field.line, ": ", name_, " has a field ", printable(field.name),
          " that is not supported; near: ", nearest_names(field.name, known));
  }
}

}  // namespace thalweg::caffe

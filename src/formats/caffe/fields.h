// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <list>
#include <set>
#include <string>
#include <vector>

#include "formats/caffe/text_message.h"
#include "thalweg/error.h"

namespace thalweg::caffe {

/// Reads the fields of one message, checked and with Caffe's defaults, and remembers which were asked for: what nobody
/// asks for is not understood, and must not be passed over in silence.
class Fields {
 public:
  static constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

  /// `message` may be null, for one that the file does not have; it must outlive the reader. `where` begins errors.
  Fields(const Message* message, std::string where, std::string name)
      : message_(message), where_(std::move(where)), name_(std::move(name)) {}

  bool has(const std::string& field) const;
  size_t count(const std::string& field) const;
  int64_t integer(const std::string& field, int64_t fallback, int64_t low = 0, int64_t high = kMost) const;
  double real(const std::string& field, double fallback) const;
  bool flag(const std::string& field, bool fallback) const;
  std::string text(const std::string& field, const std::string& fallback = "") const;
  /// One of `choices`, by its name, or by its place in the list counted from `first`.
  std::string choice(const std::string& field, const std::string& fallback, const std::vector<std::string>& choices,
                     int first = 0) const;
  std::vector<int64_t> integers(const std::string& field, int64_t low = 0, int64_t high = kMost) const;
  std::vector<double> reals(const std::string& field) const;
  std::vector<std::string> texts(const std::string& field) const;
  /// The message inside, or all of that name. They live as long as this reader.
  const Fields& inner(const std::string& field) const;
  std::vector<const Fields*> inners(const std::string& field) const;
  /// What does not change the network's answers.
  void ignore(const std::vector<std::string>& fields) const { asked_.insert(fields.begin(), fields.end()); }

  /// Throws unless every field was asked for, here and inside.
  void require_all_asked() const;
  /// Throws an Error that names the message.
  template <typename... Parts>
  void require(bool condition, const Parts&... parts) const {
    if (!condition) [[unlikely]]
      raise(where_, ": ", name_, ": ", parts...);
  }

 private:
  const Field* scalar(const std::string& field) const;
  [[noreturn]] void fail(const Field& field, const std::string& wanted) const;
  int64_t to_integer(const Field& field, int64_t low, int64_t high) const;
  double to_real(const Field& field) const;

  const Message* message_;
  std::string where_, name_;
  mutable std::set<std::string> asked_;
  mutable std::list<Fields> inner_;
};

}  // namespace thalweg::caffe

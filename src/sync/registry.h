// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <utility>

#include "sync/part_options.h"

namespace thalweg::sync {

/// The parts of one kind, each with a name and what it is made by. They make themselves known when the library is
/// loaded, each at the end of its own file, and nothing else names them but the rows of presets.
template <typename Info>
class Registry {
 public:
  /// In order of their names, which does not depend on the order in which files were linked.
  static const std::deque<Info>& all() { return entries(); }
  /// Throws Error that lists those there are if there is none of that name; `kind` is what messages call them.
  static const Info& find(const std::string& name, const std::string& kind) {
    for (const Info& info : entries()) {
      if (info.name == name) return info;
    }
    raise("there is no ", kind, " '", name, "'; there are: ", names_of(entries()));
  }

 private:
  template <typename Any>
  friend struct Register;
  static void add(Info info) {
    const auto by_name = [](const Info& a, const Info& b) { return a.name < b.name; };
    entries().insert(std::upper_bound(entries().begin(), entries().end(), info, by_name), std::move(info));
  }
  static std::deque<Info>& entries() {
    static std::deque<Info> all;
    return all;
  }
};

/// At the end of the file of each part.
template <typename Info>
struct Register {
  explicit Register(Info info) { Registry<Info>::add(std::move(info)); }
};

}  // namespace thalweg::sync

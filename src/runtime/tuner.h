// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/race.h"

namespace thalweg {

/// Remembers which way to compute something was measured to be fastest, in memory and in a file. Thread-safe; several
/// processes may share the file.
class Tuner {
 public:
  /// A file that is missing, unreadable or nonsense counts as empty. "" keeps nothing beyond this object.
  explicit Tuner(std::string path);
  /// Keeps what was found.
  ~Tuner();
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  /// The one for this CPU model and this version of the kernels, in $THALWEG_CACHE, else $XDG_CACHE_HOME/thalweg, else
  /// ~/.cache/thalweg.
  static Tuner& for_this_cpu();

  /// What was found for `key`; "" if nobody has measured it yet.
  std::string find(const std::string& key);

  /// The name of the fastest candidate. If nobody has measured `key` yet, they race. A stored name that is no candidate
  /// is measured anew.
  std::string choose(const std::string& key, const std::vector<TuningCandidate>& candidates);
  /// Stores what was measured elsewhere.
  void set(const std::string& key, const std::string& name);
  /// Reads the file again if another process has written to it: what it found need not be measured here.
  void refresh();

  /// Writes what was found since the last time into the file, with what other processes have found meanwhile. A program
  /// has dozens of choices, and to write a file safely takes as long as some measurements: so it is done once a
  /// program.
  void keep();

 private:
  void load();

  std::string path_;
  std::mutex mutex_;
  std::map<std::string, std::string> choices_;
  /// The age of the file when it was read.
  std::filesystem::file_time_type loaded_;
  /// The file lacks some of them.
  bool unwritten_ = false;
};

}  // namespace thalweg

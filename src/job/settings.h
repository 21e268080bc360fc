// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/error.h"
#include "thalweg/graph.h"

namespace thalweg::job {

/// Something in the settings of a job is wrong. The text names the key, and the line of the file or the option it comes
/// from.
class SettingsError : public Error {
 public:
  using Error::Error;
};

/// The settings of a job: sections and keys in TOML, of which the command line may replace some. Keys are named
/// "section.key". Whatever is wrong is a SettingsError.
class Settings {
 public:
  /// Each of `overrides` (`--set`) is "section.key=value", the value as in the file; text needs no quotes.
  static Settings from_file(const std::string& path, const std::vector<std::string>& overrides);
  /// `name` stands for the file in messages.
  static Settings from_text(const std::string& text, const std::string& name);
  /// Of such assignments alone.
  static Settings from_assignments(const std::vector<std::string>& assignments);
  Settings(Settings&&) noexcept;
  ~Settings();

  /// In TOML.
  std::string to_text() const;
  bool has(const std::string& key) const;
  std::string text(const std::string& key, const std::string& fallback);
  /// Must be there.
  std::string text(const std::string& key);
  /// A list of texts, or one text.
  std::vector<std::string> texts(const std::string& key, const std::vector<std::string>& fallback);
  int64_t whole(const std::string& key, int64_t fallback, int64_t least);
  double number(const std::string& key, double fallback);
  /// More than 0.
  std::chrono::duration<double> seconds(const std::string& key, std::chrono::duration<double> fallback);
  bool flag(const std::string& key, bool fallback);
  /// One of the names, by its place among them.
  size_t choice(const std::string& key, const std::vector<std::string>& names, size_t fallback);

  /// All keys of a section that nobody has asked for, for those who know better what they mean.
  std::map<std::string, double> other_numbers(const std::string& section);
  Attributes other_attributes(const std::string& section);

  /// Throws if the file has keys that nobody has asked for: they are most likely misspelt. The text has those that
  /// were.
  void finish() const;
  /// Throws SettingsError about a key that is there.
  [[noreturn]] void reject(const std::string& key, const std::string& what) const;

 private:
  struct Impl;
  explicit Settings(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace thalweg::job

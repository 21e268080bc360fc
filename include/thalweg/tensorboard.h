// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace thalweg {

/// Writes an event file for TensorBoard. For one thread at a time.
class EventWriter {
 public:
  /// Creates `directory` if need be, and in it a new file events.out.tfevents.<time>.<host>.<pid>.<number><suffix>.
  explicit EventWriter(const std::string& directory, const std::string& suffix = "");
  EventWriter(EventWriter&&) noexcept;
  EventWriter& operator=(EventWriter&&) noexcept;
  /// Writes what is left; a failure to do so is lost, so call flush() before if it matters.
  ~EventWriter();

  const std::string& path() const;

  /// A tag such as "train/loss" is a chart, its part before the '/' a section.
  void add_scalar(const std::string& tag, double value, int64_t step);
  /// Shown as Markdown.
  void add_text(const std::string& tag, const std::string& text, int64_t step);
  /// Values that are not finite are left out.
  void add_histogram(const std::string& tag, std::span<const float> values, int64_t step);

  /// Hands everything to the operating system, as happens by itself about every 64 KiB. A failure throws; the file then
  /// ends with the last event that was written as a whole, and later events go on from there.
  void flush();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace thalweg

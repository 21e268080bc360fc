// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// Protocol Buffers' text format, in which Caffe describes networks.
namespace thalweg::caffe {

struct Message;

/// One `name: value` or `name { ... }`. A list in brackets is a field for each of its members.
struct Field {
  std::string name;
  int line = 0;
  /// Of a scalar: a number, a word, or what a text has between its quotes.
  std::string text;
  bool quoted = false;
  /// Null for a scalar.
  std::shared_ptr<Message> message;
};

struct Message {
  int line = 0;
  std::deque<Field> fields;

  /// The last of that name, as the format has it; null if there is none.
  const Field* find(std::string_view name) const;
  std::vector<const Field*> all(std::string_view name) const;
  /// Appends a scalar, for whoever rewrites old forms.
  void add(const std::string& name, const std::string& text, int at_line, bool quoted = false);
  void add(const std::string& name, std::shared_ptr<Message> message, int at_line);
};

/// Reads a whole file. Whatever the bytes are, this ends soon: files, their depth and their number of fields are
/// bounded. Throws an Error that begins with `where` and the line.
Message parse_text_message(std::string_view text, const std::string& where);

}  // namespace thalweg::caffe

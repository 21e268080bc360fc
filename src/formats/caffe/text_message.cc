// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "formats/caffe/text_message.h"

#include <algorithm>

#include "base/text.h"
#include "thalweg/error.h"

namespace thalweg::caffe {
namespace {

/// The descriptions of the largest published networks have half a megabyte and four levels.
constexpr size_t kMostBytes = size_t{64} << 20;
constexpr int kMostDepth = 32;
constexpr size_t kMostFields = size_t{1} << 20;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '-' || c == '+';
}

bool is_octal(char c) { return c >= '0' && c <= '7'; }

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  Message run() {
    Message message;
    message.line = line_;
    parse_fields(message, '\0', 0);
    return message;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const { raise(where_, ":", line_, ": ", problem); }

  bool ended() const { return at_ == text_.size(); }
  char here() const { return ended() ? '\0' : text_[at_]; }

  void skip_space() {
    for (; !ended(); ++at_) {
      if (here() == '#') {
        while (!ended() && here() != '\n') ++at_;
        if (ended()) return;
      }
      if (here() == '\n') ++line_;
      if (here() != ' ' && here() != '\t' && here() != '\r' && here() != '\n') return;
    }
  }

  /// True, and past it, if the next character is `c`.
  bool take(char c) {
    skip_space();
    if (ended() || here() != c) return false;
    ++at_;
    return true;
  }

  std::string word(const char* what) {
    skip_space();
    const size_t begin = at_;
    while (!ended() && is_word(here())) ++at_;
    if (at_ == begin) {
      if (ended()) fail(std::string("the file ends where ") + what + " should stand: is it cut short?");
      fail(std::string("expected ") + what + ", found " + printable(std::string(1, here())));
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  /// `closing` ends the message: '}' or '>', or the end of the file for '\0'.
  void parse_fields(Message& message, char closing, int depth) {
    if (depth > kMostDepth) fail("messages are nested more than " + std::to_string(kMostDepth) + " deep");
    for (;;) {
      skip_space();
      while (take(',') || take(';')) {
      }
      if (ended()) {
        if (closing == '\0') return;
        fail("the file ends inside of the message that begins in line " + std::to_string(message.line) +
             ": is it cut short?");
      }
      if (closing != '\0' && take(closing)) return;
      parse_field(message, depth);
    }
  }

  void parse_field(Message& message, int depth) {
    const int line = line_;
    const std::string name = word("the name of a field");
    const bool colon = take(':');
    if (colon && take('[')) {
      while (!take(']')) {
        parse_value(message, name, line, true, depth);
        if (!take(',') && (skip_space(), here() != ']')) fail("expected ',' or ']' in the list of " + printable(name));
      }
      return;
    }
    parse_value(message, name, line, colon, depth);
  }

  void parse_value(Message& message, const std::string& name, int line, bool colon, int depth) {
    if (++fields_ > kMostFields) fail("there are more than " + std::to_string(kMostFields) + " fields");
    skip_space();
    if (here() == '{' || here() == '<') {
      const char closing = here() == '{' ? '}' : '>';
      ++at_;
      auto inner = std::make_shared<Message>();
      inner->line = line;
      parse_fields(*inner, closing, depth + 1);
      message.add(name, std::move(inner), line);
      return;
    }
    if (!colon) fail("expected ':' or '{' after " + printable(name));
    if (here() == '"' || here() == '\'') return message.add(name, quoted_text(), line, true);
    message.add(name, word("a value"), line);
  }

  /// Texts that follow each other are one.
  std::string quoted_text() {
    std::string result;
    for (skip_space(); here() == '"' || here() == '\''; skip_space()) {
      const char quote = here();
      for (++at_; here() != quote; ++at_) {
        if (ended() || here() == '\n') fail("a text has no closing quote in its line");
        if (here() == '\\') {
          escape(result);
        } else {
          result.push_back(here());
        }
      }
      ++at_;
    }
    return result;
  }

  /// At the backslash before, at the last character of the escape after.
  void escape(std::string& into) {
    ++at_;
    constexpr std::string_view kNames = "abfnrtv", kMeanings = "\a\b\f\n\r\t\v";
    if (const size_t known = kNames.find(here()); !ended() && known != std::string_view::npos) {
      into.push_back(kMeanings[known]);
    } else if (is_octal(here())) {
      int value = 0;
      for (int digits = 0; digits < 3 && is_octal(here()); ++digits) value = value * 8 + (text_[at_++] - '0');
      --at_;
      into.push_back(static_cast<char>(value));
    } else if (here() == 'x' && at_ + 1 < text_.size() && hex_value(text_[at_ + 1]) >= 0) {
      int value = 0;
      for (int digits = 0; digits < 2 && at_ + 1 < text_.size() && hex_value(text_[at_ + 1]) >= 0; ++digits) {
        value = value * 16 + hex_value(text_[++at_]);
      }
      into.push_back(static_cast<char>(value));
    } else if (here() == '\\' || here() == '"' || here() == '\'' || here() == '?') {
      into.push_back(here());
    } else {
      fail("a text has an escape that there is not");
    }
  }

  std::string_view text_;
  const std::string& where_;
  size_t at_ = 0;
  size_t fields_ = 0;
  int line_ = 1;
};

}  // namespace

const Field* Message::find(std::string_view name) const {
  const auto found = std::find_if(fields.rbegin(), fields.rend(), [&](const Field& f) { return f.name == name; });
  return found == fields.rend() ? nullptr : &*found;
}

std::vector<const Field*> Message::all(std::string_view name) const {
  std::vector<const Field*> found;
  for (const Field& field : fields) {
    if (field.name == name) found.push_back(&field);
  }
  return found;
}

void Message::add(const std::string& name, const std::string& text, int at_line, bool quoted) {
  fields.push_back({name, at_line, text, quoted, nullptr});
}

void Message::add(const std::string& name, std::shared_ptr<Message> message, int at_line) {
  fields.push_back({name, at_line, "", false, std::move(message)});
}

Message parse_text_message(std::string_view text, const std::string& where) {
  TW_REQUIRE(text.size() <= kMostBytes, where, ": has ", human_bytes(static_cast<double>(text.size())),
             ", which is more than any description of a network");
  return Parser(text, where).run();
}

}  // namespace thalweg::caffe

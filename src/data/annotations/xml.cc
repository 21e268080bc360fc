// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/annotations/xml.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "thalweg/error.h"

namespace thalweg::data {
namespace {

constexpr size_t kDeepest = 32;
/// An element takes some 100 bytes, and four characters suffice to ask for one.
constexpr size_t kMostElements = 1'000'000;
constexpr std::string_view kSpace = " \t\r\n";

class XmlReader {
 public:
  XmlReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  XmlElement run() {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (starts_with(kByteOrderMark)) at_ += kByteOrderMark.size();
    skip_outside();
    XmlElement root = element(0);
    skip_outside();
    require(at_ == text_.size(), "something follows the outermost element");
    return root;
  }

 private:
  void require(bool condition, const std::string& problem) const {
    if (condition) return;
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(at_), '\n');
    raise(name_, ": is not XML as annotations are, in line ", line, ": ", problem);
  }
  bool starts_with(std::string_view wanted) const { return text_.substr(at_).starts_with(wanted); }

  void skip_space() { at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size()); }

  /// To behind the next `end`.
  std::string_view up_to(std::string_view end, const char* what) {
    const size_t found = text_.find(end, at_);
    require(found != std::string_view::npos, std::string(what) + " does not end");
    const std::string_view result = text_.substr(at_, found - at_);
    at_ = found + end.size();
    return result;
  }

  /// A comment or processing instruction, if there is one here.
  bool skip_aside() {
    if (starts_with("<!--")) {
      up_to("-->", "a comment");
    } else if (starts_with("<?")) {
      up_to("?>", "an instruction");
    } else {
      return false;
    }
    return true;
  }

  void skip_outside() {
    do {
      skip_space();
    } while (skip_aside());
  }

  std::string name() {
    constexpr std::string_view kEnds = " \t\r\n/>=<";
    const size_t end = std::min(text_.find_first_of(kEnds, at_), text_.size());
    require(end > at_, "a name is missing");
    const std::string result(text_.substr(at_, end - at_));
    at_ = end;
    return result;
  }

  /// True if the tag, whose name was read, is that of an element without content.
  bool finish_tag() {
    for (;;) {
      skip_space();
      require(at_ < text_.size(), "a tag does not end");
      if (starts_with("/>")) {
        at_ += 2;
        return true;
      }
      if (text_[at_++] == '>') return false;
      --at_;
      name();
      skip_space();
      require(starts_with("="), "an attribute has no value");
      ++at_;
      skip_space();
      require(starts_with("\"") || starts_with("'"), "the value of an attribute is not in quotes");
      const std::string quote(1, text_[at_++]);
      up_to(quote, "the value of an attribute");
    }
  }

  XmlElement element(size_t depth) {
    require(depth < kDeepest, "elements are nested " + std::to_string(kDeepest) + " deep");
    require(++elements_ <= kMostElements, "there are more than " + std::to_string(kMostElements) + " elements");
    require(starts_with("<") && !starts_with("<!") && !starts_with("</"), "an element does not begin here");
    ++at_;
    XmlElement result;
    result.name = name();
    if (!finish_tag()) content(result, depth);
    return result;
  }

  /// To behind the closing tag.
  void content(XmlElement& element_of, size_t depth) {
    std::string text;
    for (;;) {
      const size_t next = text_.find('<', at_);
      require(next != std::string_view::npos, "element " + printable(element_of.name) + " is not closed");
      append_text(text_.substr(at_, next - at_), text);
      at_ = next;
      if (starts_with("</")) break;
      if (starts_with("<![CDATA[")) {
        at_ += std::string_view("<![CDATA[").size();
        text += up_to("]]>", "a text");
      } else if (!skip_aside()) {
        element_of.children.push_back(element(depth + 1));
      }
    }
    at_ += 2;
    require(name() == element_of.name, "element " + printable(element_of.name) + " is closed by another tag");
    skip_space();
    require(starts_with(">"), "a tag does not end");
    ++at_;
    const size_t first = text.find_first_not_of(kSpace);
    if (first != std::string::npos) element_of.text = text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
  }

  void append_text(std::string_view raw, std::string& text) const {
    while (!raw.empty()) {
      const size_t ampersand = std::min(raw.find('&'), raw.size());
      text += raw.substr(0, ampersand);
      raw.remove_prefix(ampersand);
      if (raw.empty()) return;
      const size_t end = raw.find(';');
      require(end != std::string_view::npos, "an entity does not end");
      append_entity(raw.substr(1, end - 1), text);
      raw.remove_prefix(end + 1);
    }
  }

  void append_entity(std::string_view entity, std::string& text) const {
    struct Named {
      std::string_view name;
      char character;
    };
    static constexpr std::array<Named, 5> kNamed = {
        {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}}};
    for (const Named& one : kNamed) {
      if (entity != one.name) continue;
      text.push_back(one.character);
      return;
    }
    require(entity.starts_with('#'), "there is no entity " + printable(std::string(entity)));
    const bool is_hexadecimal = entity.starts_with("#x");
    const std::string_view digits = entity.substr(is_hexadecimal ? 2 : 1);
    uint32_t code = 0;
    const auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, is_hexadecimal ? 16 : 10);
    constexpr uint32_t kLastCode = 0x10FFFF;
    require(failure == std::errc() && end == digits.data() + digits.size() && code <= kLastCode,
            "there is no character " + printable(std::string(entity)));
    append_utf8(code, text);
  }

  static void append_utf8(uint32_t code, std::string& text) {
    const auto tail = [&](int shift) { text.push_back(static_cast<char>(0x80U | ((code >> shift) & 0x3FU))); };
    if (code < 0x80) {
      text.push_back(static_cast<char>(code));
    } else if (code < 0x800) {
      text.push_back(static_cast<char>(0xC0U | (code >> 6U)));
      tail(0);
    } else if (code < 0x10000) {
      text.push_back(static_cast<char>(0xE0U | (code >> 12U)));
      tail(6);
      tail(0);
    } else {
      text.push_back(static_cast<char>(0xF0U | (code >> 18U)));
      tail(12);
      tail(6);
      tail(0);
    }
  }

  std::string_view text_;
  const std::string& name_;
  size_t at_ = 0;
  size_t elements_ = 0;
};

}  // namespace

const XmlElement* XmlElement::child(std::string_view wanted) const {
  const auto found =
      std::find_if(children.begin(), children.end(), [&](const XmlElement& one) { return one.name == wanted; });
  return found == children.end() ? nullptr : &*found;
}

XmlElement parse_xml(std::string_view text, const std::string& name) { return XmlReader(text, name).run(); }

}  // namespace thalweg::data

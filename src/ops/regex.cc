// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "ops/regex.h"

#include "base/limits.h"
#include "graph/host_op.h"
#include "thalweg/error.h"
#include "thalweg/stored_types.h"

namespace thalweg {

/// Makes states from the end of an expression to its beginning: each part is told what follows it.
class RegexParser {
 public:
  RegexParser(const std::string& pattern, Regex& regex) : text_(pattern), regex_(regex) {}

  void parse() {
    const size_t match = add({Regex::Kind::kMatch, {}, 0, 0});
    const Part whole = alternatives(0);
    TW_REQUIRE(at_ == text_.size(), "the expression '", text_, "' has a ) too many");
    regex_.start_ = build(whole, match);
  }

 private:
  enum class Shape { kEmpty, kState, kSequence, kChoice, kRepeat };
  struct Part {
    Shape shape = Shape::kEmpty;
    Regex::State state{Regex::Kind::kBytes, {}, 0, 0};
    std::vector<Part> parts = {};
    int64_t least = 1, most = 1;  ///< most -1: any number
  };
  static constexpr size_t kMostStates = 100000;
  static constexpr int64_t kMostTimes = 1000;
  static constexpr size_t kMostSteps = 1000000;
  static constexpr int kMostDepth = 200;

  [[noreturn]] void fail(const char* what) const {
    raise("the expression '", text_, "' has ", what, " at position ", at_);
  }
  bool more() const { return at_ < text_.size(); }
  bool takes(char c) { return more() && text_[at_] == c && ++at_ > 0; }

  size_t add(Regex::State state) {
    TW_REQUIRE(regex_.states_.size() < kMostStates, "the expression is too large");
    regex_.states_.push_back(std::move(state));
    return regex_.states_.size() - 1;
  }

  size_t build(const Part& part, size_t next) {
    // Repeated groups of nothing make no states.
    TW_REQUIRE(++steps_ < kMostSteps, "the expression is too large");
    switch (part.shape) {
      case Shape::kEmpty: return next;
      case Shape::kState: {
        Regex::State state = part.state;
        state.next = next;
        return add(std::move(state));
      }
      case Shape::kSequence:
        for (size_t i = part.parts.size(); i-- > 0;) next = build(part.parts[i], next);
        return next;
      case Shape::kChoice: {
        size_t chosen = build(part.parts[0], next);
        for (size_t i = 1; i < part.parts.size(); ++i) {
          chosen = add({Regex::Kind::kSplit, {}, chosen, build(part.parts[i], next)});
        }
        return chosen;
      }
      case Shape::kRepeat: return build_repeat(part, next);
    }
    return next;
  }

  size_t build_repeat(const Part& part, size_t next) {
    if (part.most < 0) {
      const size_t loop = add({Regex::Kind::kSplit, {}, 0, next});
      regex_.states_[loop].next = build(part.parts[0], loop);
      next = loop;
    }
    for (int64_t i = part.least; i < part.most; ++i) {
      next = add({Regex::Kind::kSplit, {}, build(part.parts[0], next), next});
    }
    for (int64_t i = 0; i < part.least; ++i) next = build(part.parts[0], next);
    return next;
  }

  Part alternatives(int depth) {
    TW_REQUIRE(depth < kMostDepth, "the expression is nested too deeply");
    Part choice{Shape::kChoice};
    do {
      choice.parts.push_back(sequence(depth));
    } while (takes('|'));
    return choice;
  }

  Part sequence(int depth) {
    Part all{Shape::kSequence};
    while (more() && text_[at_] != '|' && text_[at_] != ')') {
      Part one = atom(depth);
      repeated(one);
      all.parts.push_back(std::move(one));
    }
    return all;
  }

  Part atom(int depth) {
    Part part{Shape::kState};
    const char c = text_[at_++];
    switch (c) {
      case '(': {
        if (takes('?') && !takes(':')) fail("a group of a kind that is not supported");
        Part inner = alternatives(depth + 1);
        if (!takes(')')) fail("a group that does not end");
        return inner;
      }
      case '[': return letter_of(listed());
      case '.': return letter_of(~range('\n', '\n'));
      case '^': part.state.kind = Regex::Kind::kBegin; return part;
      case '$': part.state.kind = Regex::Kind::kEnd; return part;
      case '*':
      case '+':
      case '?': --at_; fail("nothing to repeat");
      case '\\':
        if (takes('b')) {
          part.state.kind = Regex::Kind::kBoundary;
        } else if (takes('B')) {
          part.state.kind = Regex::Kind::kNoBoundary;
        } else {
          return letter_of(escaped());
        }
        return part;
      default: part.state.bytes.set(static_cast<unsigned char>(c)); return part;
    }
  }

  static Part one_of(std::bitset<256> bytes) {
    Part part{Shape::kState};
    part.state.bytes = bytes;
    return part;
  }

  /// A class of letters: those of one byte that it has, and, if it has what is beyond them, any of several bytes.
  static Part letter_of(const std::bitset<256>& bytes) {
    const std::bitset<256> ascii = range(0, 0x7f);
    if ((bytes & ~ascii).none()) return one_of(bytes);
    Part choice{Shape::kChoice};
    choice.parts.push_back(one_of(bytes & ascii));
    const int first[] = {0xc0, 0xe0, 0xf0, 0xf8};
    for (int more = 1; more <= 3; ++more) {
      Part letter{Shape::kSequence};
      letter.parts.push_back(one_of(range(first[more - 1], first[more] - 1)));
      for (int i = 0; i < more; ++i) letter.parts.push_back(one_of(range(0x80, 0xbf)));
      choice.parts.push_back(std::move(letter));
    }
    return choice;
  }

  void repeated(Part& part) {
    for (;;) {
      int64_t least = 0, most = -1;
      const size_t before = at_;
      if (takes('+')) {
        least = 1;
      } else if (takes('?')) {
        most = 1;
      } else if (!takes('*') && !counted(least, most)) {
        at_ = before;
        return;
      }
      takes('?');  // that fewer are tried first changes no match of the whole
      Part whole{Shape::kRepeat};
      whole.least = least;
      whole.most = most;
      whole.parts.push_back(std::move(part));
      part = std::move(whole);
    }
  }

  bool number(int64_t& value) {
    const size_t begin = at_;
    for (value = 0; more() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      value = value * 10 + (text_[at_] - '0');
      if (value > kMostTimes) fail("too large a number of times");
    }
    return at_ > begin;
  }

  /// {m}, {m,} or {m,n}; other braces are literals.
  bool counted(int64_t& least, int64_t& most) {
    if (!takes('{') || !number(least)) return false;
    most = least;
    if (takes(',') && !number(most)) most = -1;
    if (!takes('}')) return false;
    if (most >= 0 && most < least) fail("a range that is the wrong way round");
    return true;
  }

  static std::bitset<256> range(int first, int last) {
    std::bitset<256> bytes;
    for (int b = first; b <= last; ++b) bytes.set(static_cast<size_t>(b));
    return bytes;
  }

  std::bitset<256> escaped() {
    if (!more()) fail("a \\ at its end");
    const char c = text_[at_++];
    std::bitset<256> bytes;
    switch (c) {
      case 'd':
      case 'D': bytes = range('0', '9'); break;
      case 'w':
      case 'W': bytes = range('0', '9') | range('a', 'z') | range('A', 'Z') | range('_', '_'); break;
      case 's':
      case 'S': bytes = range('\t', '\r') | range(' ', ' '); break;
      case 'n': return range('\n', '\n');
      case 't': return range('\t', '\t');
      case 'r': return range('\r', '\r');
      case 'f': return range('\f', '\f');
      case 'v': return range('\v', '\v');
      default: {
        const auto byte = static_cast<unsigned char>(c);
        const bool letter = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (letter) fail("an escape that is not supported");
        return range(byte, byte);
      }
    }
    return c >= 'A' && c <= 'Z' ? ~bytes : bytes;
  }

  std::bitset<256> listed() {
    std::bitset<256> bytes;
    const bool others = takes('^');
    for (bool first = true; first || !takes(']'); first = false) {
      if (!more()) fail("a class that does not end");
      if (text_[at_] == '[' && at_ + 1 < text_.size() && text_[at_ + 1] == ':')
        fail("a named class, which is not supported,");
      if (text_[at_] == '\\') {
        ++at_;
        bytes |= escaped();
        continue;
      }
      if (static_cast<unsigned char>(text_[at_]) > 0x7f)
        fail("a class of letters beyond ASCII, which is not supported,");
      const int low = static_cast<unsigned char>(text_[at_++]);
      int high = low;
      if (at_ + 1 < text_.size() && text_[at_] == '-' && text_[at_ + 1] != ']') {
        ++at_;
        if (text_[at_] == '\\') fail("a range to an escape, which is not supported,");
        high = static_cast<unsigned char>(text_[at_++]);
        if (high < low) fail("a range that is the wrong way round");
      }
      bytes |= range(low, high);
    }
    return others ? ~bytes : bytes;
  }

  const std::string& text_;
  Regex& regex_;
  size_t at_ = 0, steps_ = 0;
};

Regex::Regex(const std::string& pattern) { RegexParser(pattern, *this).parse(); }

namespace {

bool is_word(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

/// All states that are reached before byte `at` without reading on.
void Regex::follow(size_t first, const std::string& text, size_t at, std::vector<bool>& active) const {
  const bool before = at > 0 && is_word(text[at - 1]), after = at < text.size() && is_word(text[at]);
  std::vector<size_t> waiting{first};
  while (!waiting.empty()) {
    const size_t state = waiting.back();
    waiting.pop_back();
    if (active[state]) continue;
    active[state] = true;
    const State& s = states_[state];
    if (s.kind == Kind::kSplit) {
      waiting.push_back(s.next);
      waiting.push_back(s.other);
    } else if ((s.kind == Kind::kBegin && at == 0) || (s.kind == Kind::kEnd && at == text.size()) ||
               (s.kind == Kind::kBoundary && before != after) || (s.kind == Kind::kNoBoundary && before == after)) {
      waiting.push_back(s.next);
    }
  }
}

size_t Regex::longest_match(const std::string& text, size_t from) const {
  constexpr size_t kMatch = 0;  // the state that was made first
  std::vector<bool> active(states_.size());
  follow(start_, text, from, active);
  size_t end = active[kMatch] ? from : std::string::npos;
  for (size_t i = from; i < text.size(); ++i) {
    std::vector<bool> next(states_.size());
    bool any = false;
    for (size_t state = 0; state < states_.size(); ++state) {
      const State& s = states_[state];
      if (active[state] && s.kind == Kind::kBytes && s.bytes[static_cast<unsigned char>(text[i])]) {
        follow(s.next, text, i + 1, next);
        any = true;
      }
    }
    if (!any) break;
    active = std::move(next);
    if (active[kMatch]) end = i + 1;
    require_time();
  }
  return end;
}

bool Regex::matches_whole(const std::string& text) const { return longest_match(text, 0) == text.size(); }

namespace {

std::vector<Tensor> regex_full_match(const HostContext& call) {
  const Tensor& x = call.input(0);
  const auto regex = call.made_once<Regex>([&] { return Regex(call.text("pattern", "")); });
  Tensor result(DType::kBool, x.shape());
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    result.data<bool>()[i] = regex->matches_whole(stored::texts_of(x)[i]);
  }
  return {result};
}

const RegisterHost kRegexFullMatch("onnx.RegexFullMatch", regex_full_match);

}  // namespace
}  // namespace thalweg

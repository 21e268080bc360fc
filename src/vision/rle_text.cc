// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// The compressed form of run lengths. From the fourth run on, a number is the difference to the run two before. A
// number is a sequence of characters from '0' on, of five bits each from the lowest up, with a sixth that says that
// more follow; the highest of the last five is the sign.
#include "thalweg/error.h"
#include "thalweg/vision/rle.h"

namespace thalweg::vision {
namespace {

constexpr char kFirst = '0';
constexpr int kBits = 5;
constexpr int kMoreFollow = 1 << kBits;
constexpr int kSign = 1 << (kBits - 1);
/// Differences of runs of at most 2^31 pixels have 33 bits.
constexpr int kMostDigits = 7;
constexpr size_t kFirstDifference = 3;

void append_number(int64_t value, std::string& text) {
  bool more = true;
  while (more) {
    int digit = static_cast<int>(value & (kMoreFollow - 1));
    value >>= kBits;
    more = (digit & kSign) != 0 ? value != -1 : value != 0;
    if (more) digit |= kMoreFollow;
    text.push_back(static_cast<char>(kFirst + digit));
  }
}

int64_t next_number(std::string_view text, size_t& at) {
  int64_t value = 0;
  for (int i = 0; i < kMostDigits; ++i) {
    TW_REQUIRE(at < text.size(), "the text of a mask ends within a number");
    const int digit = text[at] - kFirst;
    TW_REQUIRE(digit >= 0 && digit < 2 * kMoreFollow, "the text of a mask has a character of number ",
               static_cast<int>(static_cast<unsigned char>(text[at])), " at ", at, ", which none has");
    ++at;
    value |= static_cast<int64_t>(digit & (kMoreFollow - 1)) << (kBits * i);
    if ((digit & kMoreFollow) != 0) continue;
    if ((digit & kSign) != 0) value |= -(int64_t{1} << (kBits * (i + 1)));
    return value;
  }
  raise("the text of a mask has a number of more than ", kMostDigits, " characters at ", at);
}

}  // namespace

std::string Rle::text() const {
  std::string result;
  for (size_t i = 0; i < counts_.size(); ++i) {
    const int64_t before = i >= kFirstDifference ? counts_[i - 2] : 0;
    append_number(int64_t{counts_[i]} - before, result);
  }
  return result;
}

Rle Rle::from_text(int64_t height, int64_t width, std::string_view text) {
  Rle checked(height, width);  // throws if the size is not allowed
  const int64_t pixels = height * width;
  std::vector<int64_t> counts;
  for (size_t at = 0; at < text.size();) {
    int64_t count = next_number(text, at);
    if (counts.size() >= kFirstDifference) count += counts[counts.size() - 2];
    TW_REQUIRE(count >= 0 && count <= pixels, "run ", counts.size(), " of a mask of ", height, " x ", width,
               " pixels has ", count, " pixels");
    counts.push_back(count);
  }
  return from_counts(height, width, counts);
}

}  // namespace thalweg::vision

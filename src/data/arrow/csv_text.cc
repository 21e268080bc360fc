// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/arrow/csv_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "data/arrow/decimal.h"

namespace thalweg::data {
namespace {

constexpr size_t kPartBytes = size_t{256} << 10U;
/// What is read at once in search of the end of a line that a part cuts.
constexpr size_t kTailBytes = 4096;
constexpr size_t kVectorBytes = 64;
/// Places in a part are 32 bits wide.
constexpr size_t kMaxLineBytes = size_t{1} << 30U;

/// 64 characters.
struct Characters {
  static constexpr size_t kCount = kVectorBytes / sizeof(__m128i);
  __m128i vectors[kCount];

  explicit Characters(const char* text) {
    for (size_t i = 0; i < kCount; ++i) vectors[i] = detail::load(text + i * sizeof(__m128i));
  }
  /// A bit for each that is the one wanted.
  uint64_t where(__m128i wanted) const {
    uint64_t bits = 0;
    for (size_t i = 0; i < kCount; ++i) {
      const auto equal = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(vectors[i], wanted)));
      bits |= static_cast<uint64_t>(equal) << (i * sizeof(__m128i));
    }
    return bits;
  }
  /// Not zero somewhere if any is the one wanted.
  __m128i any(__m128i wanted) const {
    __m128i found = _mm_setzero_si128();
    for (const __m128i vector : vectors) found = _mm_or_si128(found, _mm_cmpeq_epi8(vector, wanted));
    return found;
  }
};

/// Writes the places of the bits; room for 64 is there. Most often there are up to eight, which need no branch.
uint32_t* write_places(uint64_t bits, uint32_t from, uint32_t* out) {
  const int count = std::popcount(bits);
  for (int i = 0; i < 8; ++i, bits &= bits - 1) out[i] = from + static_cast<uint32_t>(std::countr_zero(bits));
  for (int i = 8; i < count; ++i, bits &= bits - 1) out[i] = from + static_cast<uint32_t>(std::countr_zero(bits));
  return out + count;
}

/// Of a text of so many lines.
bool has_carriage_returns_before_line_ends_only(std::string_view text, size_t lines) {
  size_t count = 0;
  for (size_t at = text.find('\r'); at != std::string_view::npos; at = text.find('\r', at + 1), ++count) {
    if (at + 1 == text.size() || text[at + 1] != '\n') return false;
  }
  return count == lines;
}

}  // namespace

std::optional<FieldEnds> find_field_ends(std::string_view text, char separator, std::vector<uint32_t>& memory) {
  // Room for one at every byte, so that writing needs no check.
  memory.resize(std::max(memory.size(), text.size() + kVectorBytes));
  uint32_t* out = memory.data();
  size_t lines = 0;
  __m128i quotes = _mm_setzero_si128(), carriages = quotes;
  const __m128i separators = _mm_set1_epi8(separator);
  for (size_t at = 0; at < text.size(); at += kVectorBytes) {
    const Characters here(text.data() + at);
    const size_t rest = text.size() - at;
    const uint64_t inside = rest >= kVectorBytes ? ~uint64_t{0} : (uint64_t{1} << rest) - 1;
    const uint64_t line_ends = here.where(_mm_set1_epi8('\n')) & inside;
    lines += static_cast<size_t>(std::popcount(line_ends));
    quotes = _mm_or_si128(quotes, here.any(_mm_set1_epi8('"')));
    carriages = _mm_or_si128(carriages, here.any(_mm_set1_epi8('\r')));
    out = write_places(line_ends | (here.where(separators) & inside), static_cast<uint32_t>(at), out);
  }
  // Past the text they may be there by chance; that only makes the file take the slow way.
  if (_mm_testz_si128(quotes, quotes) == 0) return {};
  const bool carriage_returns = _mm_testz_si128(carriages, carriages) == 0;
  if (carriage_returns && !has_carriage_returns_before_line_ends_only(text, lines)) return {};
  return FieldEnds{{memory.data(), out}, lines, carriage_returns};
}

std::optional<CsvText> CsvText::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const std::shared_ptr<const int> owner(new int(file), [](const int* descriptor) {
    ::close(*descriptor);
    delete descriptor;
  });
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return {};
  CsvText text(owner, static_cast<size_t>(status.st_size));
  if (!text.read_header()) return {};
  return text;
}

bool CsvText::read_header() {
  size_t end = std::string::npos;
  while (end == std::string::npos) {
    const size_t before = header_.size();
    const size_t count = std::min(kTailBytes, size_ - before);
    if (count == 0 || before > kMaxLineBytes) return false;
    header_.resize(before + count);
    if (!read_bytes(before, count, header_.data() + before)) return false;
    end = header_.find('\n', before);
  }
  body_ = end + 1;
  header_.resize(end);
  if (header_.ends_with('\r')) header_.pop_back();
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (header_.starts_with(kByteOrderMark)) header_.erase(0, kByteOrderMark.size());
  return true;
}

size_t CsvText::num_parts() const { return (size_ - body_ + kPartBytes - 1) / kPartBytes; }

bool CsvText::read_bytes(size_t at, size_t count, char* to) const {
  while (count > 0) {
    const ssize_t got = ::pread(*file_, to, count, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += static_cast<size_t>(got);
    to += got;
    count -= static_cast<size_t>(got);
  }
  return true;
}

bool CsvText::read(size_t number, CsvPart& part) const {
  // From the byte before the part on, which tells whether a line begins with it.
  const size_t begin = body_ + number * kPartBytes - 1;
  size_t end = std::min(size_, begin + 1 + kPartBytes);
  size_t count = end - begin;
  std::vector<char>& bytes = part.bytes_;
  const auto read_on = [&](size_t from, size_t more) {
    bytes.resize(std::max(bytes.size(), kDecimalBytes + from + more + 1 + kVectorBytes));
    return read_bytes(begin + from, more, bytes.data() + kDecimalBytes + from);
  };
  if (!read_on(0, count)) return false;
  const auto text = [&] { return std::string_view(bytes.data() + kDecimalBytes, count); };
  part.lines_ = {};
  const size_t first = text().find('\n') + 1;
  if (first == 0 || first == count) return true;
  // The last line goes on to its end, past the part.
  size_t line_end = text()[count - 1] == '\n' ? count - 1 : std::string_view::npos;
  while (line_end == std::string_view::npos && end < size_ && count < kMaxLineBytes) {
    const size_t before = count;
    const size_t more = std::min(kTailBytes, size_ - end);
    if (!read_on(before, more)) return false;
    count += more;
    end += more;
    line_end = text().find('\n', before);
  }
  if (line_end == std::string_view::npos) {
    if (end < size_) return false;
    bytes[kDecimalBytes + count] = '\n';
    line_end = count;
  }
  part.lines_ = std::string_view(bytes.data() + kDecimalBytes + first, line_end + 1 - first);
  return true;
}

}  // namespace thalweg::data

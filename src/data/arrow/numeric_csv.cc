// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/arrow/numeric_csv.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>

#include "data/rows.h"

namespace thalweg::data {
namespace {

/// Text is followed by so many bytes that may be read, none of them a digit.
constexpr size_t kSlack = 8;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A number as it is written.
struct Decimal {
  bool negative = false;
  bool whole = true;  ///< neither point nor exponent
  uint64_t digits = 0;
  int count = 0;  ///< of digits
  int exponent = 0;
};

/// The number that eight digits make, each a byte from 0 to 9, the first one lowest: pairs are joined three times.
uint64_t join_digits(uint64_t word) {
  word = word * 10 + (word >> 8U);
  constexpr uint64_t kPairs = 0x000000FF000000FF;
  constexpr uint64_t kMillionAndHundred = (uint64_t{1000000} << 32U) + 100;
  constexpr uint64_t kTenThousandAndOne = (uint64_t{10000} << 32U) + 1;
  return ((word & kPairs) * kMillionAndHundred + ((word >> 16U) & kPairs) * kTenThousandAndOne) >> 32U;
}

/// Advances `p` past digits, eight at a time.
void take_digits(const char*& p, Decimal& number) {
  static constexpr std::array<uint64_t, 9> kPowers = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  for (;;) {
    uint64_t word = 0;
    std::memcpy(&word, p, sizeof word);
    word ^= 0x3030303030303030;
    // The highest bit of each byte that is no digit; a carry spoils only bytes behind one.
    const uint64_t others = ((word + 0x7676767676767676) | word) & 0x8080808080808080;
    const int count = others == 0 ? 8 : std::countr_zero(others) / 8;
    if (count == 0) return;
    number.digits = number.digits * kPowers[static_cast<size_t>(count)] + join_digits(word << (64 - 8 * count));
    number.count += count;
    p += count;
    if (count < 8) return;
  }
}

bool parse_exponent(const char*& p, Decimal& number) {
  number.whole = false;
  ++p;
  const bool down = *p == '-';
  if (*p == '-' || *p == '+') ++p;
  if (!is_digit(*p)) return false;
  int power = 0;
  for (; is_digit(*p); ++p) power = std::min(power * 10 + (*p - '0'), 9999);
  number.exponent += down ? -power : power;
  return true;
}

/// Advances `p` past a number; false if there is none.
bool parse_decimal(const char*& p, Decimal& number) {
  // No branch on the sign, which nobody can predict.
  number.negative = *p == '-';
  p += static_cast<int>(number.negative) | static_cast<int>(*p == '+');
  // Few digits stand before a point.
  for (; is_digit(*p); ++p, ++number.count) number.digits = number.digits * 10 + static_cast<uint64_t>(*p - '0');
  if (*p == '.') {
    number.whole = false;
    const char* first = ++p;
    take_digits(p, number);
    number.exponent = static_cast<int>(first - p);
  }
  if (number.count == 0) return false;
  return (*p != 'e' && *p != 'E') || parse_exponent(p, number);
}

/// Correctly rounded: both numbers are exact in double where the quick way is taken.
bool to_double(const Decimal& number, const char* begin, const char* end, double& value) {
  static constexpr std::array<double, 23> kPowers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (number.count <= 18 && number.digits < (uint64_t{1} << 53U) && std::abs(number.exponent) <= 22) {
    const auto digits = static_cast<double>(number.digits);
    const double power = kPowers[static_cast<size_t>(std::abs(number.exponent))];
    static constexpr std::array<double, 2> kSigns = {1.0, -1.0};
    value = (number.exponent < 0 ? digits / power : digits * power) * kSigns[number.negative ? 1 : 0];
    return true;
  }
  const auto [stop, failure] = std::from_chars(*begin == '+' ? begin + 1 : begin, end, value);
  return failure == std::errc() && stop == end;
}

/// Where the values of a column go.
struct Destination {
  size_t tensor;
  int64_t place;  ///< of the column in a row of it
};

/// For each column of the file, the places its values go to.
using Plan = std::vector<std::vector<Destination>>;

/// Takes the header from the text; nothing if a name is quoted or a column that is wanted is not there.
std::optional<Plan> make_plan(std::string_view& text, char separator, const std::vector<TensorColumns>& tensors) {
  const size_t end = text.find('\n');
  std::string_view header = text.substr(0, end);
  if (end == std::string_view::npos || header.find('"') != std::string_view::npos) return {};
  text.remove_prefix(end + 1);
  if (header.ends_with('\r')) header.remove_suffix(1);
  std::vector<std::string_view> names;
  for (;;) {
    const size_t cut = header.find(separator);
    names.push_back(header.substr(0, cut));
    if (cut == std::string_view::npos) break;
    header.remove_prefix(cut + 1);
  }
  Plan plan(names.size());
  for (size_t t = 0; t < tensors.size(); ++t) {
    for (size_t i = 0; i < tensors[t].columns.size(); ++i) {
      const auto found = std::find(names.begin(), names.end(), tensors[t].columns[i]);
      if (found == names.end()) return {};
      plan[static_cast<size_t>(found - names.begin())].push_back({t, static_cast<int64_t>(i)});
    }
  }
  return plan;
}

class Segment {
 public:
  Segment(std::string_view text, char separator, const Plan& plan, Block& block)
      : text_(text), separator_(separator), columns_(plan.size()) {
    for (size_t c = 0; c < plan.size(); ++c) {
      columns_[c].first = targets_.size();
      for (const Destination& destination : plan[c]) {
        const Tensor& tensor = block.tensors[destination.tensor];
        char* first =
            static_cast<char*>(tensor.raw()) + static_cast<size_t>(destination.place) * size_of(tensor.dtype());
        targets_.push_back({tensor.dtype(), first, row_bytes(tensor)});
      }
      columns_[c].end = targets_.size();
    }
  }

  /// False if something is no number.
  bool parse() {
    const char* p = text_.data();
    const char* const end = p + text_.size();
    while (p < end) {
      for (size_t c = 0; c < columns_.size(); ++c) {
        if (!field(p, columns_[c])) return false;
        if (c + 1 < columns_.size() && *p++ != separator_) return false;
      }
      if (*p == '\r') ++p;
      if (*p++ != '\n') return false;
    }
    return true;
  }

 private:
  /// Where the next value of a column goes, and how far it is to the one after it.
  struct Target {
    DType dtype;
    char* next;
    size_t stride;
  };
  /// The targets of a column.
  struct Column {
    size_t first = 0;
    size_t end = 0;
  };

  bool skip(const char*& p) const {
    while (*p != separator_ && *p != '\n' && *p != '"') ++p;
    return *p != '"';
  }
  bool field(const char*& p, const Column& column) {
    if (column.first == column.end) return skip(p);
    const char* begin = p;
    Decimal number;
    if (!parse_decimal(p, number)) return false;
    for (size_t i = column.first; i < column.end; ++i) {
      Target& target = targets_[i];
      if (!store(number, begin, p, target)) return false;
      target.next += target.stride;
    }
    return true;
  }
  static bool store(const Decimal& number, const char* begin, const char* end, const Target& target) {
    if (target.dtype == DType::kI64 && number.whole && number.count <= 18) {
      const auto digits = static_cast<int64_t>(number.digits);
      *reinterpret_cast<int64_t*>(target.next) = number.negative ? -digits : digits;
      return true;
    }
    double value = 0;
    const bool floating = target.dtype == DType::kF32 || target.dtype == DType::kF64;
    if (!floating || !to_double(number, begin, end, value)) return false;
    if (target.dtype == DType::kF32) {
      *reinterpret_cast<float*>(target.next) = static_cast<float>(value);
    } else {
      *reinterpret_cast<double*>(target.next) = value;
    }
    return true;
  }

  const std::string_view text_;
  const char separator_;
  std::vector<Column> columns_;
  std::vector<Target> targets_;
};

/// Cuts text, which ends with the end of a line, into so many parts that do as well; some may be empty.
std::vector<std::string_view> cut_lines(std::string_view text, size_t count) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for (size_t i = 1; i <= count; ++i) {
    const size_t wanted = std::max(begin, text.size() * i / count);
    const size_t end = wanted >= text.size() ? text.size() : text.find('\n', wanted) + 1;
    parts.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return parts;
}

int64_t count_lines(std::string_view text) {
  int64_t lines = 0;
  for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) ++lines;
  return lines;
}

/// Runs work(i) for i below `count`, each on a thread of its own; false if one gave false or threw.
bool in_threads(size_t count, const std::function<bool(size_t)>& work) {
  std::vector<char> good(count, 0);
  std::vector<std::thread> workers;
  for (size_t i = 0; i < count; ++i) {
    workers.emplace_back([&, i] {
      try {
        good[i] = work(i) ? 1 : 0;
      } catch (const std::exception&) {  // out of memory: Arrow's reader takes less at a time
        good[i] = 0;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  return std::count(good.begin(), good.end(), 1) == static_cast<ptrdiff_t>(count);
}

/// A whole file, with the end of a line and kSlack bytes after it.
struct Text {
  std::unique_ptr<char[]> bytes;
  size_t size = 0;
};

/// Nothing if it is too large, or if it cannot be read as a whole: whoever reads it next will say why.
std::optional<Text> read_text(const std::string& path, int64_t max_bytes, size_t threads) {
  std::error_code failure;
  const uintmax_t size = std::filesystem::file_size(path, failure);
  if (failure || size > static_cast<uintmax_t>(max_bytes)) return {};
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  // Not filled with zeros first, as a vector would be.
  Text text{std::make_unique_for_overwrite<char[]>(size + 1 + kSlack), size};
  const bool whole = in_threads(threads, [&](size_t i) {
    size_t at = size * i / threads;
    const size_t end = size * (i + 1) / threads;
    while (at < end) {
      const ssize_t count = ::pread(file, text.bytes.get() + at, end - at, static_cast<off_t>(at));
      if (count <= 0 && errno != EINTR) return false;
      at += static_cast<size_t>(std::max<ssize_t>(count, 0));
    }
    return true;
  });
  ::close(file);
  if (!whole) return {};
  if (size == 0 || text.bytes[size - 1] != '\n') text.bytes[text.size++] = '\n';
  std::fill_n(text.bytes.get() + text.size, kSlack, '\n');
  return text;
}

}  // namespace

std::optional<std::vector<BlockPtr>> read_numeric_csv(const std::string& path, char separator, int64_t max_bytes,
                                                      int threads, BlockMaker& maker) {
  const auto count = static_cast<size_t>(threads);
  const std::optional<Text> file = read_text(path, max_bytes, count);
  if (!file) return {};
  std::string_view text(file->bytes.get(), file->size);
  const std::optional<Plan> plan = make_plan(text, separator, maker.tensors());
  if (!plan) return {};
  const std::vector<std::string_view> parts = cut_lines(text, count);
  std::vector<BlockPtr> blocks(parts.size());
  const bool good = in_threads(parts.size(), [&](size_t i) {
    const std::shared_ptr<Block> block = maker.allocate(count_lines(parts[i]));
    blocks[i] = block;
    return Segment(parts[i], separator, *plan, *block).parse();
  });
  if (!good) return {};
  std::erase_if(blocks, [](const BlockPtr& block) { return block->rows == 0; });
  return blocks;
}

}  // namespace thalweg::data

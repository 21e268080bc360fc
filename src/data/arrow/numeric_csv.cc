// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/arrow/numeric_csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <thread>

#include "data/file_bytes.h"
#include "data/rows.h"

namespace thalweg::data {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A number as it is written.
struct Decimal {
  bool negative = false;
  bool whole = true;  ///< neither point nor exponent
  uint64_t digits = 0;
  int count = 0;  ///< of digits
  int exponent = 0;
};

/// Advances `p` past a number; false if there is none. What follows the text must be no digit.
bool parse_decimal(const char*& p, Decimal& number) {
  number.negative = *p == '-';
  if (*p == '-' || *p == '+') ++p;
  for (; is_digit(*p); ++p, ++number.count) number.digits = number.digits * 10 + static_cast<uint64_t>(*p - '0');
  if (*p == '.') {
    number.whole = false;
    for (++p; is_digit(*p); ++p, ++number.count, --number.exponent) {
      number.digits = number.digits * 10 + static_cast<uint64_t>(*p - '0');
    }
  }
  if (number.count == 0) return false;
  if (*p != 'e' && *p != 'E') return true;
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

/// Correctly rounded: both numbers are exact in double where the quick way is taken.
bool to_double(const Decimal& number, const char* begin, const char* end, double& value) {
  constexpr std::array<double, 23> kPowers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (number.count <= 18 && number.digits < (uint64_t{1} << 53U) && std::abs(number.exponent) <= 22) {
    const auto digits = static_cast<double>(number.digits);
    const double power = kPowers[static_cast<size_t>(std::abs(number.exponent))];
    value = number.exponent < 0 ? digits / power : digits * power;
    if (number.negative) value = -value;
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
      : p_(text.data()), end_(text.data() + text.size()), separator_(separator), targets_(plan.size()) {
    for (size_t c = 0; c < plan.size(); ++c) {
      for (const Destination& destination : plan[c]) {
        const Tensor& tensor = block.tensors[destination.tensor];
        char* first =
            static_cast<char*>(tensor.raw()) + static_cast<size_t>(destination.place) * size_of(tensor.dtype());
        targets_[c].push_back({tensor.dtype(), first, row_bytes(tensor)});
      }
    }
  }

  /// False if something is no number.
  bool parse() {
    while (p_ < end_) {
      for (size_t c = 0; c < targets_.size(); ++c) {
        if (!(targets_[c].empty() ? skip() : field(targets_[c]))) return false;
        if (c + 1 < targets_.size() && *p_++ != separator_) return false;
      }
      if (*p_ == '\r') ++p_;
      if (*p_++ != '\n') return false;
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

  bool skip() {
    while (*p_ != separator_ && *p_ != '\n' && *p_ != '"') ++p_;
    return *p_ != '"';
  }
  bool field(std::vector<Target>& targets) {
    const char* begin = p_;
    Decimal number;
    if (!parse_decimal(p_, number)) return false;
    for (Target& target : targets) {
      if (!store(number, begin, target)) return false;
      target.next += target.stride;
    }
    return true;
  }
  bool store(const Decimal& number, const char* begin, const Target& target) const {
    if (target.dtype == DType::kI64 && number.whole && number.count <= 18) {
      const auto digits = static_cast<int64_t>(number.digits);
      *reinterpret_cast<int64_t*>(target.next) = number.negative ? -digits : digits;
      return true;
    }
    double value = 0;
    const bool floating = target.dtype == DType::kF32 || target.dtype == DType::kF64;
    if (!floating || !to_double(number, begin, p_, value)) return false;
    if (target.dtype == DType::kF32) {
      *reinterpret_cast<float*>(target.next) = static_cast<float>(value);
    } else {
      *reinterpret_cast<double*>(target.next) = value;
    }
    return true;
  }

  const char* p_;
  const char* const end_;
  const char separator_;
  std::vector<std::vector<Target>> targets_;  ///< of each column
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

}  // namespace

std::optional<std::vector<BlockPtr>> read_numeric_csv(const std::string& path, char separator, int64_t max_bytes,
                                                      int threads, BlockMaker& maker) {
  std::error_code failure;
  if (std::filesystem::file_size(path, failure) > static_cast<uintmax_t>(max_bytes) || failure) return {};
  std::vector<uint8_t> bytes;
  read_file(path, bytes, max_bytes);
  if (bytes.empty() || bytes.back() != '\n') bytes.push_back('\n');
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::optional<Plan> plan = make_plan(text, separator, maker.tensors());
  if (!plan) return {};
  const std::vector<std::string_view> parts = cut_lines(text, static_cast<size_t>(threads));
  std::vector<BlockPtr> blocks(parts.size());
  std::vector<char> good(parts.size(), 0);
  std::vector<std::thread> workers;
  for (size_t i = 0; i < parts.size(); ++i) {
    workers.emplace_back([&, i] {
      try {
        const auto rows = static_cast<int64_t>(std::count(parts[i].begin(), parts[i].end(), '\n'));
        const std::shared_ptr<Block> block = maker.allocate(rows);
        good[i] = Segment(parts[i], separator, *plan, *block).parse() ? 1 : 0;
        blocks[i] = block;
      } catch (const std::exception&) {  // out of memory: Arrow's reader takes less at a time
        good[i] = 0;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  if (std::count(good.begin(), good.end(), 1) != static_cast<ptrdiff_t>(good.size())) return {};
  std::erase_if(blocks, [](const BlockPtr& block) { return block->rows == 0; });
  return blocks;
}

}  // namespace thalweg::data

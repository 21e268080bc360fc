// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/arrow/numeric_csv.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "base/threads.h"
#include "data/arrow/csv_text.h"
#include "data/arrow/decimal.h"
#include "data/rows.h"

namespace thalweg::data {
namespace {

/// Where the values of a column go.
struct Destination {
  size_t tensor;
  int64_t place;  ///< of the column in a row of it
};

/// For each column of the file, the places its values go to.
using Plan = std::vector<std::vector<Destination>>;

/// Nothing if a name is quoted, or if a column that is wanted is not there just once.
std::optional<Plan> make_plan(std::string_view header, char separator, const std::vector<TensorColumns>& tensors) {
  if (header.find('"') != std::string_view::npos) return {};
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
      const std::string& name = tensors[t].columns[i];
      if (std::count(names.begin(), names.end(), name) != 1) return {};
      const auto found = std::find(names.begin(), names.end(), name);
      plan[static_cast<size_t>(found - names.begin())].push_back({t, static_cast<int64_t>(i)});
    }
  }
  return plan;
}

/// Turns the lines of a part of the file into rows of a block.
class RowParser {
 public:
  RowParser(std::string_view text, const FieldEnds& ends, const Plan& plan, Block& block)
      : text_(text.data()), ends_(ends), columns_(plan.size()) {
    for (size_t c = 0; c < plan.size(); ++c) {
      const bool trimmed = ends.carriage_returns && c + 1 == plan.size();
      Run run{Run::Kind::kAny, 1, targets_.size(), targets_.size() + plan[c].size(), trimmed ? size_t{1} : size_t{0}};
      for (const Destination& destination : plan[c]) {
        const Tensor& tensor = block.tensors[destination.tensor];
        char* first =
            static_cast<char*>(tensor.raw()) + static_cast<size_t>(destination.place) * size_of(tensor.dtype());
        targets_.push_back({first, row_bytes(tensor), tensor.dtype()});
      }
      if (plan[c].empty()) run.kind = Run::Kind::kSkip;
      if (plan[c].size() == 1 && targets_.back().dtype == DType::kF32 && !trimmed) run.kind = Run::Kind::kFloats;
      if (!join(run)) runs_.push_back(run);
    }
  }

  /// False if something is no number, or a row has other fields than the header. There must be as many line ends as
  /// there are rows.
  bool parse() {
    const char* begin = text_;
    const uint32_t* next = ends_.places.data();
    for (size_t row = 0; row < ends_.lines; ++row) {
      if (text_[next[columns_ - 1]] != '\n') return false;
      for (const Run& run : runs_) {
        if (run.kind == Run::Kind::kFloats) {
          if (!floats(begin, next, run)) return false;
        } else if (run.kind == Run::Kind::kAny) {
          if (!any(begin, text_ + *next - run.trim, run)) return false;
        }
        next += run.columns;
        begin = text_ + next[-1] + 1;
      }
    }
    return true;
  }

 private:
  /// Where the next value of a column goes, and how far it is to the one after it.
  struct Target {
    char* next;
    size_t stride;
    DType dtype;
  };
  /// Columns next to each other that are treated alike.
  struct Run {
    enum class Kind {
      kSkip,
      kFloats,  ///< to f32 elements next to each other, the first of which is the first target
      kAny      ///< one column
    };
    Kind kind;
    size_t columns;
    size_t first_target;
    size_t end_target;
    size_t trim;  ///< characters at the end that do not belong to the field
  };

  /// Makes the last run longer by this one, if it goes on where that ends.
  bool join(const Run& run) {
    if (runs_.empty() || run.kind == Run::Kind::kAny || runs_.back().kind != run.kind) return false;
    Run& last = runs_.back();
    if (run.kind == Run::Kind::kFloats) {
      const char* after = targets_[last.first_target].next + last.columns * sizeof(float);
      if (targets_[run.first_target].next != after) return false;
      targets_.pop_back();
    }
    ++last.columns;
    return true;
  }

  bool floats(const char* begin, const uint32_t* ends, const Run& run) {
    Target& target = targets_[run.first_target];
    auto* out = reinterpret_cast<float*>(target.next);
    for (size_t i = 0; i < run.columns; ++i) {
      const char* end = text_ + ends[i];
      double value = 0;
      if (!parse_double(begin, end, value)) return false;
      out[i] = static_cast<float>(value);
      begin = end + 1;
    }
    target.next += target.stride;
    return true;
  }

  bool any(const char* begin, const char* end, const Run& run) {
    for (size_t i = run.first_target; i < run.end_target; ++i) {
      Target& target = targets_[i];
      if (!store(begin, end, target)) return false;
      target.next += target.stride;
    }
    return true;
  }

  static bool store(const char* begin, const char* end, const Target& target) {
    if (target.dtype == DType::kF64) return parse_double(begin, end, *reinterpret_cast<double*>(target.next));
    if (target.dtype == DType::kF32) {
      double value = 0;
      if (!parse_double(begin, end, value)) return false;
      *reinterpret_cast<float*>(target.next) = static_cast<float>(value);
      return true;
    }
    int64_t value = 0;
    if (!parse_whole(begin, end, value)) return false;
    if (target.dtype == DType::kI64) {
      *reinterpret_cast<int64_t*>(target.next) = value;
      return true;
    }
    *reinterpret_cast<int32_t*>(target.next) = static_cast<int32_t>(value);
    return value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max();
  }

  const char* const text_;
  const FieldEnds ends_;
  const size_t columns_;
  std::vector<Run> runs_;
  std::vector<Target> targets_;
};

/// The parts of a file, read and parsed by several threads, each the next one that nobody has taken.
class ParallelReader {
 public:
  ParallelReader(const CsvText& file, char separator, const Plan& plan, int64_t max_bytes, BlockMaker& maker)
      : file_(file), separator_(separator), plan_(plan), room_(max_bytes), maker_(maker), blocks_(file.num_parts()) {}

  std::optional<std::vector<BlockPtr>> read(int threads) {
    const size_t useful = std::min(blocks_.size(), static_cast<size_t>(threads));
    run_on_threads(static_cast<int>(useful), [this] { work(); });
    if (!good_) return {};
    std::erase_if(blocks_, [](const BlockPtr& block) { return block == nullptr; });
    return std::move(blocks_);
  }

 private:
  void work() {
    try {
      CsvPart part;
      std::vector<uint32_t> memory;
      for (size_t number = next_++; number < blocks_.size() && good_; number = next_++) {
        if (!read_part(number, part, memory)) good_ = false;
      }
    } catch (const std::exception&) {  // out of memory: Arrow's reader takes less at a time
      good_ = false;
    }
  }

  bool read_part(size_t number, CsvPart& part, std::vector<uint32_t>& memory) {
    if (!file_.read(number, part)) return false;
    const std::optional<FieldEnds> ends = find_field_ends(part.lines(), separator_, memory);
    if (!ends || ends->lines * plan_.size() != ends->places.size()) return false;
    if (ends->lines == 0) return true;
    const std::shared_ptr<Block> block = maker_.allocate(static_cast<int64_t>(ends->lines));
    blocks_[number] = block;
    if ((room_ -= block->bytes()) < 0) return false;
    return RowParser(part.lines(), *ends, plan_, *block).parse();
  }

  const CsvText& file_;
  const char separator_;
  const Plan& plan_;
  std::atomic<int64_t> room_;
  BlockMaker& maker_;
  std::vector<BlockPtr> blocks_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> good_ = true;
};

}  // namespace

std::optional<std::vector<BlockPtr>> read_numeric_csv(const std::string& path, char separator, int64_t max_bytes,
                                                      int threads, BlockMaker& maker) {
  const std::optional<CsvText> file = CsvText::open(path);
  if (!file) return {};
  const std::optional<Plan> plan = make_plan(file->header(), separator, maker.tensors());
  if (!plan) return {};
  return ParallelReader(*file, separator, *plan, max_bytes, maker).read(threads);
}

}  // namespace thalweg::data

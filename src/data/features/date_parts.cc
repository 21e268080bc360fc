// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>

#include "data/features/columns.h"
#include "data/features/kinds.h"

namespace thalweg::data {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::sys_days;
using std::chrono::sys_seconds;
using std::chrono::year_month_day;

/// Years that a calendar of 64 bits of seconds and of four digits both have.
constexpr int64_t kMostSeconds = 253'402'300'799;   // the end of 9999
constexpr int64_t kLeastSeconds = -62'167'219'200;  // the begin of 0

year_month_day date_of(sys_seconds time) { return year_month_day(floor<days>(time)); }

int64_t seconds_of_day(sys_seconds time) { return (time - floor<days>(time)).count(); }

struct Part {
  const char* name;
  int64_t (*of)(sys_seconds);
};

constexpr std::array<Part, 7> kParts = {{
    {"year", [](sys_seconds time) { return int64_t{static_cast<int>(date_of(time).year())}; }},
    {"month", [](sys_seconds time) { return int64_t{static_cast<unsigned>(date_of(time).month())}; }},
    {"day", [](sys_seconds time) { return int64_t{static_cast<unsigned>(date_of(time).day())}; }},
    {"weekday", [](sys_seconds time) { return int64_t{std::chrono::weekday(floor<days>(time)).iso_encoding()} - 1; }},
    {"day_of_year",
     [](sys_seconds time) {
       const sys_days begin(date_of(time).year() / std::chrono::January / 1);
       return int64_t{(floor<days>(time) - begin).count()} + 1;
     }},
    {"hour", [](sys_seconds time) { return seconds_of_day(time) / 3600; }},
    {"minute", [](sys_seconds time) { return seconds_of_day(time) / 60 % 60; }},
}};

const Part* find_part(const std::string& name) {
  const auto found = std::find_if(kParts.begin(), kParts.end(), [&](const Part& part) { return name == part.name; });
  return found == kParts.end() ? nullptr : &*found;
}

/// Reads a text from its begin.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  /// Exactly so many digits.
  std::optional<int> number(size_t digits) {
    int value = 0;
    if (rest_.size() < digits) return std::nullopt;
    const auto [end, failure] = std::from_chars(rest_.data(), rest_.data() + digits, value);
    if (failure != std::errc() || end != rest_.data() + digits || value < 0) return std::nullopt;
    rest_.remove_prefix(digits);
    return value;
  }
  bool skip(std::string_view any_of) {
    if (rest_.empty() || any_of.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void skip_digits() {
    while (skip("0123456789")) {
    }
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

/// What follows the date; nothing is midnight.
std::optional<int64_t> read_time_of_day(Reader& reader) {
  if (reader.at_end()) return 0;
  if (!reader.skip("T ")) return std::nullopt;
  const std::optional<int> hour = reader.number(2);
  const bool colon = reader.skip(":");
  const std::optional<int> minute = colon ? reader.number(2) : std::nullopt;
  int second = 0;
  if (reader.skip(":")) {
    const std::optional<int> read = reader.number(2);
    if (!read.has_value()) return std::nullopt;
    second = *read;
    if (reader.skip(".")) reader.skip_digits();
  }
  reader.skip("Z");
  const bool good = hour.has_value() && minute.has_value() && *hour < 24 && *minute < 60 && second < 61;
  return good ? std::optional<int64_t>(*hour * 3600 + *minute * 60 + second) : std::nullopt;
}

std::optional<sys_seconds> read_time(std::string_view text) {
  Reader reader(text);
  const std::optional<int> year = reader.number(4);
  const std::optional<int> month = reader.skip("-") ? reader.number(2) : std::nullopt;
  const std::optional<int> day = reader.skip("-") ? reader.number(2) : std::nullopt;
  if (!year.has_value() || !month.has_value() || !day.has_value()) return std::nullopt;
  const year_month_day date(std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                            std::chrono::day(static_cast<unsigned>(*day)));
  const std::optional<int64_t> of_day = date.ok() ? read_time_of_day(reader) : std::nullopt;
  if (!of_day.has_value() || !reader.at_end()) return std::nullopt;
  return sys_days(date) + std::chrono::seconds(*of_day);
}

std::vector<sys_seconds> times_of(const Column& column) {
  require_present(column);
  std::vector<sys_seconds> times;
  if (const auto* texts = std::get_if<Texts>(&column.values)) {
    for (const std::string& text : *texts) {
      const std::optional<sys_seconds> time = read_time(text);
      TW_REQUIRE(time.has_value(), "column '", column.name, "' holds ", printable(text), " in row ", times.size(),
                 ", which is no date as 2026-03-01 or 2026-03-01 14:05:09");
      times.push_back(*time);
    }
    return times;
  }
  for (const double seconds : numbers_of(column)) {
    TW_REQUIRE(seconds >= static_cast<double>(kLeastSeconds) && seconds <= static_cast<double>(kMostSeconds),
               "column '", column.name, "' holds ", seconds, " in row ", times.size(),
               ", which is no number of seconds since 1970 in the years 0 to 9999");
    times.emplace_back(std::chrono::seconds(static_cast<int64_t>(std::floor(seconds))));
  }
  return times;
}

}  // namespace

void apply(const DateParts& f, std::vector<Column>& columns) {
  const std::vector<sys_seconds> times = times_of(find_column(columns, f.column));
  for (const std::string& name : f.parts) {
    Integers values;
    for (const sys_seconds time : times) values.push_back(find_part(name)->of(time));
    columns.push_back({f.column + "_" + name, std::move(values)});
  }
  std::erase_if(columns, [&](const Column& column) { return column.name == f.column; });
}

const char* complaint_of(const DateParts& f) {
  if (f.parts.empty()) return "needs parts";
  const bool known = std::all_of(f.parts.begin(), f.parts.end(), find_part);
  return known ? nullptr : "parts are among year, month, day, weekday, day_of_year, hour and minute";
}

}  // namespace thalweg::data

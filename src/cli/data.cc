// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/sample_images.h"
#include "cli/source_kind.h"
#include "cli/text_table.h"
#include "thalweg/data/describe_table.h"
#include "thalweg/data/remote_files.h"
#include "thalweg/npy.h"

namespace thalweg::cli {
namespace {

Json json_of(const data::ImageSize& size) { return {{"height", size.height}, {"width", size.width}}; }

Json json_of(const data::ImageSummary& summary) {
  return {{"kind", "images"},
          {"images", summary.images},
          {"formats", summary.formats},
          {"classes", summary.classes},
          {"smallest", json_of(summary.smallest)},
          {"largest", json_of(summary.largest)},
          {"mean_height", summary.mean_height},
          {"mean_width", summary.mean_width},
          {"bad", summary.bad}};
}

Json json_of(const data::TextSummary& summary) {
  return {{"kind", "text"},
          {"lines", summary.lines},
          {"tokens", summary.tokens},
          {"classes", summary.classes},
          {"shortest", summary.shortest},
          {"longest", summary.longest},
          {"mean_length", summary.mean_length},
          {"length_50", summary.half},
          {"length_90", summary.most},
          {"length_99", summary.nearly_all}};
}

Json json_of(const data::TableStatistics& table) {
  Json report = {{"kind", "table"}, {"files", table.files}, {"rows", table.rows}, {"columns", Json::array()}};
  for (const data::ColumnStatistics& column : table.columns) {
    Json one = {{"name", column.name}, {"type", column.type}, {"nulls", column.nulls}, {"nans", column.nans}};
    if (column.distinct.has_value()) {
      one["distinct"] = *column.distinct;
      one["distinct_is_limit"] = *column.distinct >= data::kMostDistinct;
    }
    if (column.numbers.has_value()) {
      const data::NumberStatistics& numbers = *column.numbers;
      one["min"] = numbers.min;
      one["max"] = numbers.max;
      one["mean"] = numbers.mean;
      one["std"] = numbers.deviation;
    }
    report["columns"].push_back(std::move(one));
  }
  return report;
}

/// Nobody calls a column 1.5: such a first line is one of data, whose file has no names.
bool is_number(const std::string& name) {
  double value = 0;
  const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), value);
  return failure == std::errc() && end == name.data() + name.size();
}

bool lacks_names(const std::string& path, const data::TableStatistics& table) {
  const std::string ending = ending_of(path);
  return (ending == ".csv" || ending == ".tsv") &&
         std::any_of(table.columns.begin(), table.columns.end(),
                     [](const auto& column) { return is_number(column.name); });
}

std::string table_text(const Json& report) {
  TextTable table({"column", "type", "nulls", "distinct", "min", "max", "mean", "std"});
  for (const Json& column : report["columns"]) {
    const auto number = [&](const char* key) { return column.contains(key) ? format("%.6g", column[key]) : "-"; };
    std::string distinct = "-";
    if (column.contains("distinct")) {
      distinct = column["distinct"].dump() + (column["distinct_is_limit"].get<bool>() ? "+" : "");
    }
    table.add_row({column["name"], column["type"], column["nulls"].dump(), distinct, number("min"), number("max"),
                   number("mean"), number("std")});
  }
  std::string note;
  if (report["lacks_names"].get<bool>()) {
    note =
        "The first line was taken for the names of the columns, but holds numbers: write a line of names before it.\n";
  }
  return report["rows"].dump() + " rows in " + report["files"].dump() + " files\n" + table.to_string() + note;
}

Json json_of(const NamedTensor& array) {
  Json result = {
      {"name", array.name}, {"dtype", name_of(array.tensor.dtype())}, {"shape", array.tensor.shape().dims()}};
  const Tensor numbers = array.tensor.to(DType::kF64);
  double sum = 0;
  double min = INFINITY;
  double max = -INFINITY;
  int64_t nans = 0;
  for (int64_t i = 0; i < numbers.num_elements(); ++i) {
    const double value = numbers.data<double>()[i];
    if (std::isnan(value)) {
      ++nans;
      continue;
    }
    sum += value;
    min = std::min(min, value);
    max = std::max(max, value);
  }
  result["nans"] = nans;
  const int64_t count = numbers.num_elements() - nans;
  if (count == 0) return result;
  result["min"] = min;
  result["max"] = max;
  result["mean"] = sum / static_cast<double>(count);
  return result;
}

std::string arrays_text(const Json& report) {
  TextTable table({"array", "dtype", "shape", "nans", "min", "max", "mean"});
  for (const Json& array : report["arrays"]) {
    const auto number = [&](const char* key) { return array.contains(key) ? format("%.6g", array[key]) : "-"; };
    table.add_row({array["name"], array["dtype"], array["shape"].dump(), array["nans"].dump(), number("min"),
                   number("max"), number("mean")});
  }
  return table.to_string();
}

class Data : public Command {
 public:
  CommandDescription describe() const override {
    return {"data", "What data hold: classes, sizes, bad files, columns, statistics",
            "thalweg data photos/\n  thalweg data table.parquet --json\n  thalweg data reviews.tsv --text"};
  }

  void add_options(CLI::App& options) override {
    options
        .add_option("DATA", path_,
                    "Folder of images, image, table (.csv, .parquet, .arrow) or a folder of such, text (.txt), .npy or "
                    ".npz; all but the last two also at a URI")
        ->required();
    options.add_flag("--text", is_text_, "Describe lines of text, whatever the ending of the file is");
    options.add_option("--bad", most_bad_, "Show so many bad files")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    options.add_option("--max-pixels", decode_.max_pixels, "Images of more are bad: a small file can claim gigabytes")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
  }

  int run() override {
    switch (is_text_ ? SourceKind::kText : kind_of_source(path_)) {
      case SourceKind::kArray: describe_arrays(false); break;
      case SourceKind::kArchive: describe_arrays(true); break;
      case SourceKind::kImage: describe_image(); break;
      case SourceKind::kImageFolder: describe_folder(); break;
      case SourceKind::kText: describe_text(); break;
      case SourceKind::kTable: describe_table(); break;
    }
    return kDone;
  }

 private:
  static void update(Progress& progress, int64_t done, int64_t all) {
    progress.update(static_cast<double>(done), static_cast<double>(all));
  }

  void describe_arrays(bool archive) {
    std::vector<NamedTensor> arrays;
    if (archive) {
      arrays = npy::read_archive(path_);
    } else {
      arrays.push_back({path_, npy::read(path_)});
    }
    Json report = {{"kind", "arrays"}, {"arrays", Json::array()}};
    for (const NamedTensor& array : arrays) report["arrays"].push_back(json_of(array));
    print(report, arrays_text);
  }

  void describe_folder() {
    data::ImageSummary summary;
    {
      Progress progress(shows_progress(), "images");
      const auto tell = [&](int64_t done, int64_t all) { update(progress, done, all); };
      summary = data::is_uri(path_) ? data::describe_images(*data::remote_files(path_), decode_, tell)
                                    : data::describe_images(path_, decode_, tell);
    }
    print(json_of(summary), [&](const Json& /*report*/) { return to_string(summary, static_cast<size_t>(most_bad_)); });
  }

  void describe_table() {
    data::TableStatistics table;
    {
      Progress progress(shows_progress(), "rows");
      table = data::describe_table(path_, data::TableFormat::kAuto,
                                   [&](int64_t done, int64_t all) { update(progress, done, all); });
    }
    Json report = json_of(table);
    report["lacks_names"] = lacks_names(path_, table);
    print(report, table_text);
  }

  void describe_text() {
    data::TextSummary summary;
    {
      Progress progress(shows_progress(), "bytes");
      const auto tell = [&](int64_t done, int64_t all) { update(progress, done, all); };
      if (data::is_uri(path_)) {
        const data::RemoteFile file = data::remote_file(path_);
        summary = data::describe_text(*file.files, file.path, {}, tell);
      } else {
        summary = data::describe_text(path_, {}, tell);
      }
    }
    print(json_of(summary), [&](const Json& /*report*/) { return to_string(summary); });
  }

  void describe_image() {
    std::vector<uint8_t> bytes;
    read_bytes(path_, bytes);
    const data::ImageInfo info = data::inspect_image(bytes, path_, decode_);
    data::decode_image(bytes, path_, decode_);  // fails if the rest of the file is bad
    Json report = {{"kind", "image"}, {"format", data::name_of(info.format)}};
    report.update(json_of(info.size));
    print(report, [](const Json& one) {
      return one["format"].get<std::string>() + ", width " + one["width"].dump() + ", height " + one["height"].dump() +
             "\n";
    });
  }

  std::string path_;
  bool is_text_ = false;
  int64_t most_bad_ = 20;
  data::DecodeOptions decode_;
};

const RegisterCommand kData([] { return std::make_unique<Data>(); });

}  // namespace
}  // namespace thalweg::cli

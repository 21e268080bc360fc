// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/arrow/files.h"

#include <arrow/compute/initialize.h>
#include <arrow/config.h>
#include <arrow/csv/options.h>
#include <arrow/dataset/file_csv.h>
#include <arrow/dataset/file_ipc.h>
#include <arrow/dataset/file_parquet.h>
#include <arrow/filesystem/api.h>
#include <dlfcn.h>
#include <parquet/metadata.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "data/arrow/arrow_types.h"
#include "data/arrow/result.h"

namespace thalweg::data {
namespace {

namespace fs = arrow::fs;
namespace ds = arrow::dataset;

struct Ending {
  std::string_view text;
  TableFormat format;
};
constexpr std::array<Ending, 7> kEndings = {{{".parquet", TableFormat::kParquet},
                                             {".parq", TableFormat::kParquet},
                                             {".arrow", TableFormat::kArrow},
                                             {".feather", TableFormat::kArrow},
                                             {".ipc", TableFormat::kArrow},
                                             {".csv", TableFormat::kCsv},
                                             {".tsv", TableFormat::kCsv}}};

TableFormat format_by_name(const std::string& path) {
  for (const Ending& ending : kEndings) {
    if (path.ends_with(ending.text)) return ending.format;
  }
  return TableFormat::kAuto;
}

/// The files at `path`: itself, or those below it, in the order of names; hidden ones and those that begin with _
/// (which Spark writes beside its data) are left out.
std::vector<fs::FileInfo> files_below(fs::FileSystem& system, const std::string& path, const std::string& uri) {
  const fs::FileInfo info = value_of(system.GetFileInfo(path), uri);
  TW_REQUIRE(info.type() != fs::FileType::NotFound, uri, ": no such file or directory");
  if (info.type() == fs::FileType::File) return {info};
  fs::FileSelector selector;
  selector.base_dir = path;
  selector.recursive = true;
  std::vector<fs::FileInfo> found = value_of(system.GetFileInfo(selector), uri);
  std::erase_if(found, [](const fs::FileInfo& file) {
    return !file.IsFile() || file.base_name().empty() || file.base_name()[0] == '_' || file.base_name()[0] == '.';
  });
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.path() < b.path(); });
  return found;
}

/// The one format of which there are files, by their names.
TableFormat only_format(const std::vector<fs::FileInfo>& files, const std::string& uri) {
  const fs::FileInfo* first = nullptr;
  for (const fs::FileInfo& file : files) {
    const TableFormat format = format_by_name(file.path());
    if (format == TableFormat::kAuto) continue;
    if (first == nullptr) first = &file;
    // To take one of them would leave rows out without a word.
    TW_REQUIRE(
        format == format_by_name(first->path()), uri, ": holds tables of several formats, such as ", first->base_name(),
        " and ", file.base_name(),
        ": put those of each format into a folder of their own, or say which format to read (`format` of Table)");
  }
  TW_REQUIRE(first != nullptr, uri, ": no file's name ends in .parquet, .arrow, .feather, .csv or .tsv: ",
             "if it is a table, rename it, or say what format it is (`format` of Table)");
  return format_by_name(first->path());
}

/// Leaves the files of the format asked for, or, if none was, of the only one there is.
TableFormat choose_format(std::vector<fs::FileInfo>& files, TableFormat wanted, const std::string& uri) {
  if (wanted == TableFormat::kAuto) wanted = only_format(files, uri);
  if (files.size() > 1) {
    std::erase_if(files, [&](const fs::FileInfo& file) { return format_by_name(file.path()) != wanted; });
  }
  TW_REQUIRE(!files.empty(), uri, ": holds no table files of that format");
  return wanted;
}

std::shared_ptr<ds::FileFormat> csv_format(const TableOptions& options, char separator,
                                           const std::shared_ptr<std::atomic<int64_t>>& skipped) {
  auto format = std::make_shared<ds::CsvFileFormat>();
  auto scan = std::make_shared<ds::CsvFragmentScanOptions>();
  format->parse_options.delimiter = separator;
  if (options.bad_rows == BadSample::kSkip) {
    format->parse_options.invalid_row_handler = [skipped](const arrow::csv::InvalidRow&) {
      ++*skipped;
      return arrow::csv::InvalidRowResult::Skip;
    };
  }
  for (const auto* tensors : {&options.inputs, &options.targets}) {
    for (const TensorColumns& tensor : *tensors) {
      for (const std::string& column : tensor.columns) {
        scan->convert_options.column_types[column] = arrow_type(tensor.dtype);
      }
    }
  }
  format->default_fragment_scan_options = scan;
  return format;
}

/// Arrow takes absolute paths only.
std::string with_whole_path(const std::string& uri) {
  return uri.find("://") == std::string::npos ? std::filesystem::absolute(uri).string() : uri;
}

/// S3 is in a library of its own, beside Arrow's and of the same version, that is loaded when it is first needed.
arrow::Status load_s3() {
  Dl_info arrow_library{};
  if (::dladdr(reinterpret_cast<const void*>(&arrow::GetBuildInfo), &arrow_library) == 0) {
    return arrow::Status::IOError("cannot find the Arrow library in this process");
  }
  std::string path = arrow_library.dli_fname;
  constexpr std::string_view kName = "libarrow.so";
  const size_t at = path.rfind(kName);
  if (at == std::string::npos) return arrow::Status::IOError(path, " has no S3 library beside it");
  path.replace(at, kName.size(), "libarrow_s3.so");
  return fs::LoadFileSystemFactories(path.c_str());
}

/// Where the name of a user and the secret end in an address whose host, or they, begin at `begin`.
size_t end_of_user(const std::string& uri, size_t begin) {
  const size_t slash = std::min(uri.find('/', begin), uri.size());
  size_t at = uri.rfind('@', slash);
  if (at == std::string::npos || at < begin) {
    // A secret may hold a slash, although it should be written as %2F: then what follows the colon is no port.
    const size_t colon = uri.find(':', begin);
    const bool port = colon > slash || uri.find_first_not_of("0123456789", colon + 1) >= slash;
    at = port ? std::string::npos : uri.rfind('@');
  }
  return at == std::string::npos || at < begin ? begin : at + 1;
}

/// Arrow repeats addresses in its messages.
std::string without(std::string text, const std::string& secret, const std::string& instead) {
  for (size_t at = 0; !secret.empty() && (at = text.find(secret, at)) != std::string::npos; at += instead.size()) {
    text.replace(at, secret.size(), instead);
  }
  return text;
}

/// Takes what `text` has after `before` and until `after`, and leaves what follows that; nothing if either is missing.
std::optional<std::string_view> between(std::string_view& text, std::string_view before, std::string_view after) {
  const size_t begin = text.find(before);
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin + before.size());
  const size_t end = text.find(after);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view found = text.substr(0, end);
  text.remove_prefix(end + after.size());
  return found;
}

}  // namespace

std::string without_secrets(const std::string& uri) {
  const size_t scheme = uri.find("://");
  const size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
  std::string name = scheme == std::string::npos ? uri : uri.substr(0, uri.find('?'));
  if (begin > 0) name.erase(begin, end_of_user(name, begin) - begin);
  while (name.size() > begin + 1 && name.back() == '/') name.pop_back();
  return name;
}

std::shared_ptr<fs::FileSystem> open_file_system(const std::string& uri, std::string& path) {
  const std::string name = without_secrets(uri);
  const bool s3 = uri.starts_with("s3://");
  if (s3) {
    static const arrow::Status kLoaded = load_s3();
    require_ok(kLoaded, name);
  }
  std::shared_ptr<fs::FileSystem> system;
  try {
    system = about(name, [&] { return value_of(fs::FileSystemFromUriOrPath(with_whole_path(uri), &path), name); });
  } catch (const Error& error) {
    raise(without(error.what(), uri, name));
  }
  // The threads of the first S3 system must have ended before the process takes its libraries apart.
  if (s3) {
    [[maybe_unused]] static const int kRegistered = std::atexit(fs::EnsureFinalized);
  }
  return system;
}

FoundFiles find_files(const std::string& uri, const TableOptions& options) {
  FoundFiles result;
  const std::string name = without_secrets(uri);
  result.uri = name;
  std::string path;
  result.system = open_file_system(uri, path);
  result.files = about(name, [&] { return files_below(*result.system, path, name); });
  result.format = choose_format(result.files, options.format, name);
  const bool tabs = result.files.front().path().ends_with(".tsv") && options.csv_separator == ',';
  result.csv_separator = tabs ? '\t' : options.csv_separator;
  return result;
}

std::string conversion_problem(const FoundFiles& found, const std::string& message) {
  if (found.format != TableFormat::kCsv) return "";
  std::string_view rest = message;
  const auto column = between(rest, "In CSV column #", ": ");
  const auto type = column ? between(rest, "CSV conversion error to ", ": ") : std::nullopt;
  const auto value = type ? between(rest, "invalid value '", "'") : std::nullopt;
  int index = 0;
  if (!value || std::from_chars(column->begin(), column->end(), index).ptr != column->end()) return "";
  try {
    const auto schema = open_files(found, {.inputs = {}, .format = found.format}).dataset->schema();
    if (index < 0 || index >= schema->num_fields()) return "";
    const auto& field = schema->field(index);
    const bool text = field->type()->id() == arrow::Type::STRING;
    return found.uri + ": column '" + field->name() + "' holds " + printable(std::string(*value)) + ", which is no " +
           std::string(*type) + (text ? "; it is a column of text: leave it out, or make numbers of it" : "");
  } catch (const Error&) {  // then the message stays as it is
    return "";
  }
}

TableFiles open_files(const FoundFiles& found, const TableOptions& options) {
  static const arrow::Status kInitialized = arrow::compute::Initialize();
  require_ok(kInitialized, "Arrow");
  TableFiles result;
  result.uri = found.uri;
  result.format = found.format;
  result.skipped_rows = std::make_shared<std::atomic<int64_t>>(0);
  std::shared_ptr<ds::FileFormat> format;
  if (found.format == TableFormat::kParquet) {
    format = std::make_shared<ds::ParquetFileFormat>();
  } else if (found.format == TableFormat::kArrow) {
    format = std::make_shared<ds::IpcFileFormat>();
  } else {
    format = csv_format(options, found.csv_separator, result.skipped_rows);
  }
  const auto factory = value_of(
      ds::FileSystemDatasetFactory::Make(found.system, found.files, format, ds::FileSystemFactoryOptions()), found.uri);
  result.dataset = value_of(factory->Finish(), found.uri);
  auto fragments = value_of(result.dataset->GetFragments(), found.uri);
  result.fragments = value_of(fragments.ToVector(), found.uri);
  return result;
}

std::vector<RowGroup> row_groups(const TableFiles& files) {
  std::vector<RowGroup> result;
  for (const auto& fragment : files.fragments) {
    auto& parquet = dynamic_cast<ds::ParquetFileFragment&>(*fragment);
    const std::string& path = parquet.source().path();
    require_ok(parquet.EnsureCompleteMetadata(), path);
    for (const int group : parquet.row_groups()) {
      const int64_t rows = parquet.metadata()->RowGroup(group)->num_rows();
      if (rows > 0) result.push_back({value_of(parquet.Subset(std::vector<int>{group}), path), rows});
    }
  }
  return result;
}

}  // namespace thalweg::data

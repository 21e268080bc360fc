// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/source_kind.h"

#include <algorithm>
#include <filesystem>

#include "data/file_list.h"
#include "thalweg/data/remote_files.h"
#include "thalweg/error.h"

namespace thalweg::cli {
namespace {

constexpr int kMaxDepth = 64;

/// What the names of files say of the folder they lie in.
class FolderKind {
 public:
  explicit FolderKind(std::string folder) : folder_(std::move(folder)) {}

  /// True if nothing that follows could change the answer.
  bool add(const std::string& name) {
    has_image_ = has_image_ || data::has_image_extension(name);
    has_table_ = has_table_ || data::has_table_extension(name);
    return has_image_;
  }

  SourceKind kind() const {
    TW_REQUIRE(has_image_ || has_table_, folder_, ": holds neither images nor tables");
    return has_image_ ? SourceKind::kImageFolder : SourceKind::kTable;
  }

 private:
  const std::string folder_;
  bool has_image_ = false;
  bool has_table_ = false;
};

bool add_below(const std::string& path, int depth, FolderKind& kind) {
  TW_REQUIRE(depth < kMaxDepth, path, ": folders lie ", kMaxDepth, " deep; is there a loop?");
  const data::Listing listing = data::list_directory(path);
  for (const std::string& name : listing.files) {
    if (kind.add(name)) return true;
  }
  for (const std::string& name : listing.folders) {
    if (add_below(path + "/" + name, depth + 1, kind)) return true;
  }
  return false;
}

SourceKind kind_of_folder(const std::string& path) {
  FolderKind kind(path);
  add_below(path, 0, kind);
  return kind.kind();
}

SourceKind kind_of_remote_folder(const std::string& uri) {
  const data::FilesPtr files = data::remote_files(uri);
  FolderKind kind(files->name());
  for (const std::string& path : files->list()) {
    if (kind.add(path)) break;
  }
  return kind.kind();
}

}  // namespace

std::string ending_of(const std::string& path) {
  const bool is_uri = data::is_uri(path);
  std::string ending = std::filesystem::path(is_uri ? path.substr(0, path.find('?')) : path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending;
}

bool is_image_file(const std::string& path) {
  std::error_code ignored;
  return data::has_image_extension("x" + ending_of(path)) && !std::filesystem::is_directory(path, ignored);
}

SourceKind kind_of_source(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return kind_of_folder(path);
  const std::string ending = ending_of(path);
  if (ending == ".npy") return SourceKind::kArray;
  if (ending == ".npz") return SourceKind::kArchive;
  if (ending == ".txt") return SourceKind::kText;
  if (is_image_file(path)) return SourceKind::kImage;
  if (data::has_table_extension("x" + ending_of(path)) || !data::is_uri(path)) return SourceKind::kTable;
  return kind_of_remote_folder(path);
}

}  // namespace thalweg::cli

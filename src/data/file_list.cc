// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "data/file_list.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>

#include "thalweg/error.h"

namespace thalweg::data {
namespace {

constexpr int kMaxDepth = 64;

/// Asks the file only where the directory does not say what it is: a look at each of a million files takes long.
bool is_folder(const std::string& directory, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN && entry.d_type != DT_LNK) return entry.d_type == DT_DIR;
  struct stat status {};
  return ::stat((directory + "/" + entry.d_name).c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string joined(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

void list_below(const std::string& directory, const std::string& within, int depth, TextList& paths) {
  TW_REQUIRE(depth < kMaxDepth, directory, "/", within, ": folders lie ", kMaxDepth, " deep; is there a loop?");
  const Listing listing = list_directory(joined(directory, within));
  for (const std::string& name : listing.files) {
    if (has_image_extension(name)) paths.add(joined(within, name));
  }
  for (const std::string& name : listing.folders) list_below(directory, joined(within, name), depth + 1, paths);
}

}  // namespace

Listing list_directory(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> handle(::opendir(directory.c_str()), ::closedir);
  TW_REQUIRE(handle != nullptr, directory, ": cannot list: ", std::strerror(errno));
  Listing result;
  errno = 0;
  while (const dirent* entry = ::readdir(handle.get())) {
    if (entry->d_name[0] != '.') {
      (is_folder(directory, *entry) ? result.folders : result.files).emplace_back(entry->d_name);
    }
    errno = 0;
  }
  TW_REQUIRE(errno == 0, directory, ": cannot list: ", std::strerror(errno));
  std::sort(result.folders.begin(), result.folders.end());
  std::sort(result.files.begin(), result.files.end());
  return result;
}

void list_images(const std::string& directory, const std::string& within, TextList& paths) {
  list_below(directory, within, 0, paths);
}

namespace {

bool has_extension(std::string_view name, std::span<const std::string_view> extensions) {
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
  return std::any_of(extensions.begin(), extensions.end(), [&](std::string_view extension) {
    return name.size() > extension.size() &&
           std::equal(name.end() - static_cast<ptrdiff_t>(extension.size()), name.end(), extension.begin(), same);
  });
}

}  // namespace

bool has_image_extension(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kExtensions = {".jpg", ".jpeg", ".png", ".gif", ".bmp"};
  return has_extension(name, kExtensions);
}

bool has_table_extension(std::string_view name) {
  static constexpr std::array<std::string_view, 7> kExtensions = {".parquet", ".parq", ".arrow", ".feather",
                                                                  ".ipc",     ".csv",  ".tsv"};
  return has_extension(name, kExtensions);
}

}  // namespace thalweg::data

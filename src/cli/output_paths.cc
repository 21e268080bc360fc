// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/output_paths.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "thalweg/error.h"

namespace thalweg::cli {
namespace {

namespace fs = std::filesystem;

/// Permissions alone do not tell: file systems may be read-only, full, or not made for files at all (/proc).
void require_place_for_entries(const fs::path& folder, const std::string& path) {
  std::string attempt = (folder / ".thalweg-check-XXXXXX").string();
  TW_REQUIRE(::mkdtemp(attempt.data()) != nullptr, "cannot write to '", path, "': ", std::strerror(errno));
  ::rmdir(attempt.c_str());
}

}  // namespace

void require_writable_file(const std::string& path) {
  std::error_code unknown;
  // A link is followed when the file is written.
  const fs::path file = fs::is_symlink(path, unknown) ? fs::weakly_canonical(path, unknown) : fs::path(path);
  TW_REQUIRE(!fs::is_directory(file, unknown) && file.has_filename(), "'", path,
             "' is a folder: give the path of a file");
  TW_REQUIRE(!fs::is_other(file, unknown), "cannot write to '", path, "': it is a device, a pipe or a socket");
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  TW_REQUIRE(fs::is_directory(folder, unknown), "cannot write to '", path, "': there is no folder '", folder.string(),
             "'");
  require_place_for_entries(folder, path);
}

void require_writable_folder(const std::string& path) {
  std::error_code unknown;
  fs::path nearest = fs::absolute(path, unknown);
  while (!fs::exists(fs::symlink_status(nearest, unknown)) && nearest.has_relative_path()) {
    nearest = nearest.parent_path();
  }
  TW_REQUIRE(fs::is_directory(nearest, unknown), "cannot write to '", path, "': '", nearest.string(),
             "' is not a folder");
  require_place_for_entries(nearest, path);
}

}  // namespace thalweg::cli

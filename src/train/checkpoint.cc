// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace thalweg {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "step-";
constexpr const char* kPartSuffix = ".part";
constexpr const char* kJsonKey = "thalweg.trainer";

/// -1 if `name` is not the name of a checkpoint.
int64_t iteration_of(const std::string& name) {
  const size_t prefix = std::strlen(kPrefix);
  constexpr size_t kMaxDigits = 18;
  if (name.rfind(kPrefix, 0) != 0 || name.size() == prefix || name.size() > prefix + kMaxDigits) return -1;
  if (!std::all_of(name.begin() + static_cast<int64_t>(prefix), name.end(),
                   [](unsigned char c) { return std::isdigit(c) != 0; })) {
    return -1;
  }
  return std::stoll(name.substr(prefix));
}

std::string folder_name(int64_t iteration) {
  char text[32];
  std::snprintf(text, sizeof text, "%s%08lld", kPrefix, static_cast<long long>(iteration));
  return text;
}

bool is_checkpoint(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / kWeightsFile, ignored) && fs::is_regular_file(folder / kOptimizerFile, ignored);
}

/// Complete ones, newest first.
std::vector<std::pair<int64_t, fs::path>> checkpoints_in(const fs::path& directory) {
  std::vector<std::pair<int64_t, fs::path>> found;
  std::error_code failure;
  for (fs::directory_iterator it(directory, failure), end; !failure && it != end; it.increment(failure)) {
    const int64_t iteration = iteration_of(it->path().filename().string());
    if (iteration >= 0 && is_checkpoint(it->path())) found.emplace_back(iteration, it->path());
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

/// A rename is only durable once the folder that holds the name is.
void sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  TW_REQUIRE(descriptor >= 0, folder.string(), ": cannot open: ", std::strerror(errno));
  const bool synced = ::fsync(descriptor) == 0 || errno == EINVAL;
  const int error = errno;
  ::close(descriptor);
  TW_REQUIRE(synced, folder.string(), ": cannot make durable: ", std::strerror(error));
}

/// What killed processes left behind, and what is older than the newest `keep`. Best effort: a checkpoint that was
/// written is not worth less because an old one could not be removed.
void remove_old(const fs::path& directory, int keep) {
  std::error_code ignored;
  const auto found = checkpoints_in(directory);
  for (size_t i = static_cast<size_t>(std::max(keep, 1)); i < found.size(); ++i)
    fs::remove_all(found[i].second, ignored);
  std::vector<fs::path> leftovers;
  for (fs::directory_iterator it(directory, ignored), end; !ignored && it != end; it.increment(ignored)) {
    const std::string name = it->path().filename().string();
    const std::string prefix = std::string(".") + kPrefix;
    if (name.rfind(prefix, 0) == 0 && it->path().extension() == kPartSuffix) leftovers.push_back(it->path());
  }
  for (const fs::path& leftover : leftovers) fs::remove_all(leftover, ignored);
}

void write_files(const fs::path& folder, const Checkpoint& checkpoint) {
  save_safetensors((folder / kWeightsFile).string(), checkpoint.weights);
  if (!checkpoint.best_weights.empty()) save_safetensors((folder / kBestFile).string(), checkpoint.best_weights);
  if (!checkpoint.scheme.empty()) save_safetensors((folder / kSchemeFile).string(), checkpoint.scheme);
  save_safetensors((folder / kOptimizerFile).string(), checkpoint.optimizer, {{kJsonKey, checkpoint.trainer_json}});
  sync_folder(folder);
}

/// A resumed run comes by the same iterations again, and a folder with files cannot be renamed over: the old and the
/// new one change places, so that there is one of that name at every moment.
void put_in_place(const fs::path& part, const fs::path& target) {
  if (fs::exists(target)) {
    if (::renameat2(AT_FDCWD, part.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) return;
    fs::remove_all(target);  // a file system that cannot exchange
  }
  fs::rename(part, target);
}

}  // namespace

std::string write_checkpoint(const std::string& directory, const Checkpoint& checkpoint, int keep) {
  const fs::path home(directory);
  std::error_code failure;
  fs::create_directories(home, failure);
  TW_REQUIRE(!failure, directory, ": cannot create the folder for checkpoints: ", failure.message());
  const fs::path target = home / folder_name(checkpoint.iteration);
  const fs::path part =
      home / ("." + folder_name(checkpoint.iteration) + "-" + std::to_string(::getpid()) + kPartSuffix);
  try {
    fs::remove_all(part);
    fs::create_directory(part);
    write_files(part, checkpoint);
    put_in_place(part, target);
    sync_folder(home);
    fs::remove_all(part);
  } catch (const fs::filesystem_error& error) {
    fs::remove_all(part, failure);
    raise("cannot write checkpoint ", target.string(), ": ", error.what());
  } catch (const Error& error) {
    fs::remove_all(part, failure);
    raise("cannot write checkpoint ", target.string(), ": ", error.what());
  }
  remove_old(home, keep);
  return target.string();
}

std::string find_checkpoint(const std::string& path) {
  if (is_checkpoint(path)) return path;
  const auto found = checkpoints_in(path);
  return found.empty() ? "" : found.front().second.string();
}

std::string trainer_json(const SafetensorsFile& optimizer_file) {
  const auto found = optimizer_file.metadata().find(kJsonKey);
  TW_REQUIRE(found != optimizer_file.metadata().end(), optimizer_file.path(),
             ": is not part of a checkpoint: its metadata has no '", kJsonKey, "'");
  return found->second;
}

}  // namespace thalweg

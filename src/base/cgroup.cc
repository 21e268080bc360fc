// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "base/cgroup.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

namespace thalweg {
namespace {

/// The group's path of a controller, by its line "number:controllers:path"; the root if there is none. The controllers
/// of version 2 have the name "".
std::string group_of(const std::string& membership, const std::string& controller) {
  std::ifstream file(membership);
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::istringstream names(line.substr(first + 1, second - first - 1));
    std::string name;
    bool found = controller.empty() && second == first + 1;
    while (std::getline(names, name, ',')) found = found || name == controller;
    if (found) return line.substr(second + 1);
  }
  return "/";
}

/// Calls `visit` with the folder of the group and those of the groups around it.
void for_each_level(const std::string& root, const std::string& group,
                    const std::function<void(const std::string& folder)>& visit) {
  std::filesystem::path path = std::filesystem::path(group).relative_path().lexically_normal();
  const bool outside = !path.empty() && *path.begin() == "..";
  while (!outside && !path.empty() && path != ".") {
    visit((std::filesystem::path(root) / path).string());
    path = path.parent_path();
  }
  visit(root);
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

/// The lower of two limits of which 0 means none.
template <typename T>
T stricter(T a, T b) {
  return a == 0 ? b : b == 0 ? a : std::min(a, b);
}

template <typename T>
T read_number(const std::string& path) {
  std::ifstream file(path);
  T value{};
  return file >> value && value > 0 ? value : T{};
}

/// Version 2 writes "quota period", with "max" for none.
double quota_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  double quota = 0;
  double period = 0;
  return file >> quota >> period && quota > 0 && period > 0 ? quota / period : 0;
}

double quota_v1(const std::string& folder) {
  const auto quota = read_number<double>(folder + "/cpu.cfs_quota_us");
  const auto period = read_number<double>(folder + "/cpu.cfs_period_us");
  return quota > 0 && period > 0 ? quota / period : 0;
}

int64_t memory_v1(const std::string& folder) {
  constexpr int64_t kNoLimit = int64_t{1} << 60;  // the kernel writes its largest number, rounded to pages
  const auto bytes = read_number<int64_t>(folder + "/memory.limit_in_bytes");
  return bytes < kNoLimit ? bytes : 0;
}

}  // namespace

CgroupLimits cgroup_limits(const std::string& root, const std::string& membership) {
  CgroupLimits limits;
  if (exists(root + "/cgroup.controllers") || exists(root + "/cpu.max")) {
    limits.version = 2;
    for_each_level(root, group_of(membership, ""), [&](const std::string& folder) {
      limits.processors = stricter(limits.processors, quota_v2(folder));
      limits.memory_bytes = stricter(limits.memory_bytes, read_number<int64_t>(folder + "/memory.max"));
    });
    return limits;
  }
  if (!exists(root + "/cpu") && !exists(root + "/memory")) return limits;
  limits.version = 1;
  for_each_level(root + "/cpu", group_of(membership, "cpu"),
                 [&](const std::string& folder) { limits.processors = stricter(limits.processors, quota_v1(folder)); });
  for_each_level(root + "/memory", group_of(membership, "memory"), [&](const std::string& folder) {
    limits.memory_bytes = stricter(limits.memory_bytes, memory_v1(folder));
  });
  return limits;
}

}  // namespace thalweg

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/tuner.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/cpu.h"
#include "thalweg/error.h"

namespace thalweg {
namespace {

/// Part of the file's name: to be raised when kernels change so that old measurements mislead.
constexpr const char* kKernelVersion = "5";
/// More than that is no cache of ours.
constexpr uintmax_t kLargestFile = uintmax_t{16} << 20;

std::filesystem::path cache_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  if (!variable("THALWEG_CACHE").empty()) return variable("THALWEG_CACHE");
  if (!variable("XDG_CACHE_HOME").empty()) return std::filesystem::path(variable("XDG_CACHE_HOME")) / "thalweg";
  if (!variable("HOME").empty()) return std::filesystem::path(variable("HOME")) / ".cache" / "thalweg";
  return {};
}

std::string cache_path() {
  const std::filesystem::path folder = cache_folder();
  if (folder.empty()) return "";
  std::string cpu = cpu_model();
  std::transform(cpu.begin(), cpu.end(), cpu.begin(),
                 [](unsigned char c) { return std::isalnum(c) != 0 ? static_cast<char>(c) : '_'; });
  return (folder / ("tuning-" + cpu + "-" + kKernelVersion + ".json")).string();
}

}  // namespace

Tuner::Tuner(std::string path) : path_(std::move(path)) { load(); }

Tuner& Tuner::for_this_cpu() {
  static Tuner tuner(cache_path());
  return tuner;
}

void Tuner::load() {
  std::error_code problem;
  if (path_.empty() || std::filesystem::file_size(path_, problem) > kLargestFile || problem) return;
  loaded_ = std::filesystem::last_write_time(path_, problem);
  std::ifstream file(path_);
  const nlohmann::json content = nlohmann::json::parse(file, nullptr, false);
  if (!content.is_object()) return;
  for (const auto& [key, choice] : content.items()) {
    if (choice.is_string()) choices_.emplace(key, choice.get<std::string>());
  }
}

Tuner::~Tuner() { keep(); }

void Tuner::keep() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!unwritten_ || path_.empty()) return;
  unwritten_ = false;
  try {
    load();  // what other processes found meanwhile
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
    const std::string text = nlohmann::json(choices_).dump(1) + "\n";
    AtomicFile file(path_);
    file.write(text.data(), text.size());
    file.commit();
    loaded_ = std::filesystem::last_write_time(path_);
  } catch (const std::exception&) {
    path_.clear();  // a folder that cannot be written to: measured again in the next process
  }
}

void Tuner::refresh() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::error_code problem;
  if (path_.empty()) return;
  const auto written = std::filesystem::last_write_time(path_, problem);
  if (!problem && written != loaded_) load();
}

std::string Tuner::find(const std::string& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = choices_.find(key);
  return known != choices_.end() ? known->second : "";
}

std::string Tuner::choose(const std::string& key, const std::vector<TuningCandidate>& candidates) {
  TW_REQUIRE(!candidates.empty(), "tuning of ", key, ": there is nothing to choose from");
  // Held while measuring: two measurements at a time would disturb each other.
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = choices_.find(key);
  if (known != choices_.end()) {
    const auto has_name = [&](const TuningCandidate& candidate) { return candidate.name == known->second; };
    if (std::any_of(candidates.begin(), candidates.end(), has_name)) return known->second;
  }
  Race race(candidates);
  while (!race.over()) race.advance();
  choices_[key] = race.winner();
  unwritten_ = true;
  return race.winner();
}

void Tuner::set(const std::string& key, const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string& choice = choices_[key];
  unwritten_ = unwritten_ || choice != name;
  choice = name;
}

}  // namespace thalweg

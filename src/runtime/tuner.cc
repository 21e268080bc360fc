// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/tuner.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
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
/// Another way must be faster by this factor than the first one.
constexpr double kNoise = 1.03;
/// Candidates that are slower than the best by this factor leave the race: after their first run, which may have been
/// disturbed or be slow for being the first; after two; and later.
constexpr std::array kHopeless{4.0, 1.3, 1.15};
constexpr int kRounds = 6;
/// So many rounds there are at least: another program may disturb any single run.
constexpr int kLeastRounds = 3;
/// How often a run is repeated because another program took a processor from it.
constexpr int kRepeats = 3;
/// No further round begins, and no run is repeated, after that time, preparations of the candidates included.
constexpr std::chrono::milliseconds kPatience{50};
/// Not even one of the least rounds begins after that time: runs so long are hardly disturbed, and somebody waits.
constexpr std::chrono::milliseconds kLongest{150};

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

using Clock = std::chrono::steady_clock;

/// How often the threads of this process had to leave a processor to another.
int64_t preemptions() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

/// The time of a run that nobody disturbed, if there is one within a few.
double undisturbed_seconds(const TuningCandidate& candidate, Clock::time_point end) {
  double least = std::numeric_limits<double>::infinity();
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const int64_t before = preemptions();
    least = std::min(least, candidate.run());
    if (preemptions() == before || Clock::now() >= end) break;
  }
  return least;
}

/// The best time of each candidate. All run in turns, so that what disturbs a while disturbs none alone.
std::vector<double> measure(const std::vector<TuningCandidate>& candidates) {
  const auto begin = Clock::now();
  const auto end = begin + kPatience;
  std::vector<double> best;
  for (const TuningCandidate& candidate : candidates) best.push_back(undisturbed_seconds(candidate, end));
  for (size_t round = 0; round < kRounds && Clock::now() < (round < kLeastRounds ? begin + kLongest : end); ++round) {
    const double limit = *std::min_element(best.begin(), best.end()) * kHopeless[std::min(round, kHopeless.size() - 1)];
    const auto in_race = std::count_if(best.begin(), best.end(), [&](double seconds) { return seconds <= limit; });
    if (round >= kLeastRounds && in_race <= 1) break;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (best[i] <= limit) best[i] = std::min(best[i], undisturbed_seconds(candidates[i], end));
    }
  }
  return best;
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
  } catch (const std::exception&) {
    path_.clear();  // a folder that cannot be written to: measured again in the next process
  }
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
  const std::vector<double> seconds = measure(candidates);
  auto fastest = static_cast<size_t>(std::min_element(seconds.begin(), seconds.end()) - seconds.begin());
  if (seconds[fastest] * kNoise > seconds[0]) fastest = 0;
  choices_[key] = candidates[fastest].name;
  unwritten_ = true;
  return candidates[fastest].name;
}

}  // namespace thalweg

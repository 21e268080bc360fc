// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/describe.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <sstream>

#include "base/threads.h"
#include "data/file_bytes.h"
#include "data/file_list.h"

namespace thalweg::data {
namespace {

/// What one thread found.
struct Part {
  std::map<std::string, int64_t> formats;
  std::vector<ImageSize> sizes;
  std::map<size_t, std::string> bad;
};

class Survey {
 public:
  /// Of files of this machine if `files` is null.
  Survey(const std::string& directory, const Files* files, const DecodeOptions& options, const Progress& progress)
      : directory_(directory), files_(files), options_(options), progress_(progress) {
    if (files == nullptr) {
      list_images(directory, "", paths_);
    } else {
      for (const std::string& path : files->list()) {
        if (has_image_extension(path)) paths_.add(path);
      }
    }
    TW_REQUIRE(paths_.size() > 0, directory, ": holds no images");
  }

  Part run(int threads) {
    std::vector<Part> parts(static_cast<size_t>(threads));
    std::atomic<size_t> next_part{0};
    run_on_threads(threads, [&] { work(parts[next_part++]); });
    for (size_t i = 1; i < parts.size(); ++i) {
      for (const auto& [format, count] : parts[i].formats) parts[0].formats[format] += count;
      parts[0].sizes.insert(parts[0].sizes.end(), parts[i].sizes.begin(), parts[i].sizes.end());
      parts[0].bad.merge(parts[i].bad);
    }
    return std::move(parts[0]);
  }
  const TextList& paths() const { return paths_; }

 private:
  void work(Part& part) {
    std::vector<uint8_t> bytes;
    for (size_t i = next_++; i < paths_.size(); i = next_++) {
      const std::string path = directory_ + "/" + std::string(paths_[i]);
      try {
        if (files_ == nullptr) {
          read_file(path, bytes);
        } else {
          files_->read(std::string(paths_[i]), bytes, kMostFileBytes);
        }
        const ImageInfo info = inspect_image(bytes, path, options_);
        decode_image(bytes, path, options_);
        ++part.formats[name_of(info.format)];
        part.sizes.push_back(info.size);
      } catch (const std::exception& error) {
        part.bad[i] = error.what();
      }
      report();
    }
  }

  void report() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++done_;
    const auto all = static_cast<int64_t>(paths_.size());
    if (progress_ && (done_ % 64 == 0 || done_ == all)) progress_(done_, all);
  }

  const std::string directory_;
  const Files* const files_;
  const DecodeOptions options_;
  const Progress progress_;
  TextList paths_;
  std::atomic<size_t> next_{0};
  std::mutex mutex_;
  int64_t done_ = 0;
};

void count_classes(const TextList& paths, std::map<std::string, int64_t>& classes) {
  for (size_t i = 0; i < paths.size(); ++i) {
    const size_t slash = paths[i].find('/');
    if (slash == std::string_view::npos) {
      classes.clear();
      return;  // an image beside the folders: they are no classes
    }
    ++classes[std::string(paths[i].substr(0, slash))];
  }
}

ImageSummary summarize(Survey& survey, int threads) {
  Part found = survey.run(threads > 0 ? threads : available_processors());
  ImageSummary result;
  result.images = static_cast<int64_t>(survey.paths().size());
  count_classes(survey.paths(), result.classes);
  result.formats = std::move(found.formats);
  for (auto& [number, reason] : found.bad) result.bad.push_back(std::move(reason));
  if (found.sizes.empty()) return result;
  result.smallest = result.largest = found.sizes.front();
  const auto count = static_cast<double>(found.sizes.size());
  for (const ImageSize& size : found.sizes) {
    result.smallest = {std::min(result.smallest.height, size.height), std::min(result.smallest.width, size.width)};
    result.largest = {std::max(result.largest.height, size.height), std::max(result.largest.width, size.width)};
    result.mean_height += static_cast<double>(size.height) / count;
    result.mean_width += static_cast<double>(size.width) / count;
  }
  return result;
}

}  // namespace

ImageSummary describe_images(const std::string& directory, const DecodeOptions& options, const Progress& progress,
                             int threads) {
  Survey survey(directory, nullptr, options, progress);
  return summarize(survey, threads);
}

ImageSummary describe_images(const Files& files, const DecodeOptions& options, const Progress& progress, int threads) {
  Survey survey(files.name(), &files, options, progress);
  return summarize(survey, threads);
}

std::string to_string(const ImageSummary& summary, size_t most) {
  std::ostringstream out;
  out << summary.images << " images";
  const char* separator = ": ";
  for (const auto& [format, count] : summary.formats) {
    out << separator << count << ' ' << format;
    separator = ", ";
  }
  out << '\n';
  if (summary.largest.width > 0) {
    out << "width " << summary.smallest.width << " to " << summary.largest.width << ", mean "
        << static_cast<int64_t>(summary.mean_width + 0.5) << "; height " << summary.smallest.height << " to "
        << summary.largest.height << ", mean " << static_cast<int64_t>(summary.mean_height + 0.5) << '\n';
  }
  if (!summary.classes.empty()) out << summary.classes.size() << " classes\n";
  for (const auto& [name, count] : summary.classes) out << "  " << name << ": " << count << '\n';
  if (!summary.bad.empty()) out << summary.bad.size() << " bad files\n";
  for (size_t i = 0; i < std::min(most, summary.bad.size()); ++i) out << "  " << summary.bad[i] << '\n';
  if (summary.bad.size() > most) out << "  ...\n";
  return out.str();
}

}  // namespace thalweg::data

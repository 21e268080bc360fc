// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/remote_files.h"

#include <arrow/io/interfaces.h>

#include <algorithm>

#include "data/arrow/files.h"
#include "data/arrow/result.h"

namespace thalweg::data {
namespace {

namespace fs = arrow::fs;

/// True if a part of the path begins with a dot.
bool is_hidden(const std::string& path) { return path.front() == '.' || path.find("/.") != std::string::npos; }

class ArrowFiles : public Files {
 public:
  explicit ArrowFiles(const std::string& uri) : name_(without_secrets(uri)), system_(open_file_system(uri, base_)) {
    while (base_.size() > 1 && base_.back() == '/') base_.pop_back();
    const fs::FileInfo info = about(name_, [&] { return value_of(system_->GetFileInfo(base_), name_); });
    TW_REQUIRE(info.type() != fs::FileType::NotFound, name_, ": no such directory");
    TW_REQUIRE(info.IsDirectory(), name_, ": is not a directory");
  }

  const std::string& name() const override { return name_; }

  std::vector<std::string> list() const override {
    fs::FileSelector selector;
    selector.base_dir = base_;
    selector.recursive = true;
    const auto found = about(name_, [&] { return value_of(system_->GetFileInfo(selector), name_); });
    std::vector<std::string> paths;
    for (const fs::FileInfo& file : found) {
      if (!file.IsFile()) continue;
      TW_REQUIRE(file.path().starts_with(base_ + "/"), name_, ": lists ", file.path(), ", which lies elsewhere");
      std::string path = file.path().substr(base_.size() + 1);
      if (!path.empty() && !is_hidden(path)) paths.push_back(std::move(path));
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }

  void read(const std::string& path, std::vector<uint8_t>& bytes, int64_t max_bytes) const override {
    const std::string what = name_ + "/" + path;
    about(what, [&] {
      const auto file = value_of(system_->OpenInputFile(base_ + "/" + path), what);
      const int64_t size = value_of(file->GetSize(), what);
      TW_REQUIRE(size <= max_bytes, what, ": holds ", size, " bytes; at most ", max_bytes, " are allowed");
      bytes.resize(static_cast<size_t>(size));
      bytes.resize(static_cast<size_t>(value_of(file->ReadAt(0, size, bytes.data()), what)));
    });
  }

 private:
  const std::string name_;
  /// Before the file system, which is opened by what fills it.
  std::string base_;
  const std::shared_ptr<fs::FileSystem> system_;
};

}  // namespace

FilesPtr remote_files(const std::string& uri) { return std::make_shared<ArrowFiles>(uri); }

RemoteFile remote_file(const std::string& uri) {
  const size_t options = std::min(uri.find('?'), uri.size());
  const size_t host = uri.find("://");
  const size_t slash = uri.rfind('/', options);
  TW_REQUIRE(host != std::string::npos && slash > host + 2 && slash + 1 < options, without_secrets(uri),
             ": is not the address of a file");
  // The slash stays, for file:///name lies in the directory file:///.
  return {remote_files(uri.substr(0, slash + 1) + uri.substr(options)), uri.substr(slash + 1, options - slash - 1)};
}

}  // namespace thalweg::data

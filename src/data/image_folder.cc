// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "thalweg/data/image_folder.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "data/file_bytes.h"
#include "data/image/codec.h"
#include "data/manifest.h"
#include "data/rows.h"

namespace thalweg::data {
namespace {

LabelledFiles list_classes(const std::string& directory) {
  LabelledFiles result;
  result.classes = list_directory(directory).folders;
  TW_REQUIRE(!result.classes.empty(), directory,
             ": holds no folders, of which each would be a class; give a manifest, ", "or open it without labels");
  for (size_t i = 0; i < result.classes.size(); ++i) {
    const size_t before = result.paths.size();
    list_images(directory, result.classes[i], result.paths);
    TW_REQUIRE(result.paths.size() > before, directory, "/", result.classes[i], ": holds no images");
    result.labels.resize(result.paths.size(), static_cast<int64_t>(i));
  }
  return result;
}

LabelledFiles list_local(const std::string& directory, ImageLabels labels) {
  if (labels == ImageLabels::kFolders) return list_classes(directory);
  LabelledFiles result;
  list_images(directory, "", result.paths);
  return result;
}

LabelledFiles list_remote(const Files& files, ImageLabels labels) {
  LabelledFiles result;
  std::map<std::string, std::vector<std::string>> by_folder;
  for (std::string& path : files.list()) {
    if (!has_image_extension(path)) continue;
    const size_t slash = labels == ImageLabels::kFolders ? path.find('/') : 0;
    if (slash != std::string::npos) by_folder[path.substr(0, slash)].push_back(std::move(path));
  }
  for (const auto& [folder, paths] : by_folder) {
    for (const std::string& path : paths) result.paths.add(path);
    if (labels == ImageLabels::kNone) continue;
    result.labels.resize(result.paths.size(), static_cast<int64_t>(result.classes.size()));
    result.classes.push_back(folder);
  }
  return result;
}

LabelledFiles list_files(const std::string& directory, const Files* remote, const ImageFolderOptions& options) {
  LabelledFiles result;
  if (options.labels == ImageLabels::kManifest) {
    result = read_manifest(options.manifest);
  } else {
    result = remote != nullptr ? list_remote(*remote, options.labels) : list_local(directory, options.labels);
  }
  TW_REQUIRE(result.paths.size() > 0, directory, ": holds no images",
             options.labels == ImageLabels::kFolders ? " in folders, of which each would be a class" : "");
  return result;
}

/// Decoded pixels as a cache keeps them: the extents, then the pixels.
constexpr size_t kPixelHeader = 3 * sizeof(int64_t);

void pack_pixels(const Tensor& image, std::vector<uint8_t>& bytes) {
  bytes.resize(kPixelHeader + image.num_bytes());
  std::memcpy(bytes.data(), image.shape().dims().data(), kPixelHeader);
  std::memcpy(bytes.data() + kPixelHeader, image.raw(), image.num_bytes());
}

Tensor unpack_pixels(const std::vector<uint8_t>& bytes) {
  std::vector<int64_t> dims(3);
  std::memcpy(dims.data(), bytes.data(), kPixelHeader);
  Tensor image(DType::kU8, Shape(dims));
  std::memcpy(image.raw(), bytes.data() + kPixelHeader, image.num_bytes());
  return image;
}

}  // namespace

class ImageFolder::Impl {
 public:
  Impl(const std::string& directory, FilesPtr remote, const ImageFolderOptions& options)
      : directory_(directory),
        remote_(std::move(remote)),
        options_(options),
        files_(list_files(directory, remote_.get(), options)) {
    type_ = options_.pipeline.output_type(channels_of(options_.decode.color));
    std::vector<int64_t> dims = type_.shape.dims();
    dims.insert(dims.begin(), kFree);
    type_.shape = Shape(dims);
    if (options_.cache.memory_bytes > 0 || options_.cache.disk_bytes > 0) {
      cache_ = std::make_unique<SampleCache>(size(), options_.cache);
    }
  }

  int64_t size() const { return static_cast<int64_t>(files_.paths.size()); }
  const TensorType& type() const { return type_; }
  const Pipeline& pipeline() const { return options_.pipeline; }
  const LabelledFiles& files() const { return files_; }
  bool has_labels() const { return options_.labels != ImageLabels::kNone; }
  int64_t label(int64_t index) const { return has_labels() ? files_.labels[static_cast<size_t>(index)] : -1; }
  std::string path(int64_t index) const {
    TW_REQUIRE(index >= 0 && index < size(), directory_, ": ", size(), " images, none has the number ", index);
    return directory_ + "/" + std::string(files_.paths[static_cast<size_t>(index)]);
  }
  void read_image(int64_t index, const Draw& draw, void* target) const;
  CacheStatus cache_status() const { return cache_ != nullptr ? cache_->status() : CacheStatus(); }

 private:
  /// `bytes` must outlive the sample.
  ImageSample sample(int64_t index, const std::string& path, std::vector<uint8_t>& bytes) const;

  void read_bytes(int64_t index, const std::string& path, std::vector<uint8_t>& bytes) const {
    if (remote_ == nullptr) return read_file(path, bytes);
    remote_->read(std::string(files_.paths[static_cast<size_t>(index)]), bytes, kMostFileBytes);
  }

  const std::string directory_;
  /// Null if the directory is one of this machine.
  const FilesPtr remote_;
  const ImageFolderOptions options_;
  const LabelledFiles files_;
  TensorType type_;
  std::unique_ptr<SampleCache> cache_;
};

ImageSample ImageFolder::Impl::sample(int64_t index, const std::string& path, std::vector<uint8_t>& bytes) const {
  const bool keeps_pixels = cache_ != nullptr && options_.cache_what == ImageCache::kPixels;
  const bool kept = cache_ != nullptr && cache_->get(index, bytes);
  if (kept && keeps_pixels) return ImageSample(unpack_pixels(bytes), path, options_.decode);
  if (!kept) read_bytes(index, path, bytes);
  if (keeps_pixels) {
    Tensor pixels = decode_image(bytes, path, options_.decode);
    pack_pixels(pixels, bytes);
    cache_->put(index, bytes);
    return ImageSample(std::move(pixels), path, options_.decode);
  }
  if (!kept && cache_ != nullptr) cache_->put(index, bytes);
  return ImageSample(bytes, path, options_.decode);
}

void ImageFolder::Impl::read_image(int64_t index, const Draw& draw, void* target) const {
  thread_local std::vector<uint8_t> bytes;
  try {
    ImageSample image = sample(index, path(index), bytes);
    options_.pipeline.run(image, draw, index, target);
  } catch (const Error& error) {
    throw SampleError(error.what());
  }
}

ImageFolder::ImageFolder(const std::string& directory, const ImageFolderOptions& options)
    : impl_(std::make_shared<Impl>(directory, nullptr, options)) {}
ImageFolder::ImageFolder(FilesPtr files, const ImageFolderOptions& options) {
  TW_REQUIRE(files != nullptr, "an image folder needs files, got a null pointer");
  const std::string name = files->name();
  impl_ = std::make_shared<Impl>(name, std::move(files), options);
}
ImageFolder::~ImageFolder() = default;

int64_t ImageFolder::size() const { return impl_->size(); }
std::vector<TensorType> ImageFolder::input_types() const { return {impl_->type()}; }
std::vector<TensorType> ImageFolder::target_types() const {
  if (!impl_->has_labels()) return {};
  return {{DType::kI64, {kFree}}};
}

void ImageFolder::read(std::span<const int64_t> indices, const Draw& draw, const Batch& batch, int64_t row) const {
  const std::shared_ptr<Impl> impl = impl_;
  for (const int64_t index : indices) {
    impl->read_image(index, draw, row_of(batch.inputs[0], row));
    if (impl->has_labels()) batch.targets[0].data<int64_t>()[row] = impl->label(index);
    ++row;
  }
}

const std::vector<std::string>& ImageFolder::classes() const { return impl_->files().classes; }
const Pipeline& ImageFolder::pipeline() const { return impl_->pipeline(); }
std::string ImageFolder::path(int64_t index) const { return impl_->path(index); }
int64_t ImageFolder::label(int64_t index) const { return impl_->label(index); }
CacheStatus ImageFolder::cache_status() const { return impl_->cache_status(); }

}  // namespace thalweg::data

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/train_job.h"

#include <limits>

#include "thalweg/data/remote_files.h"
#include "thalweg/zoo.h"

namespace thalweg::cli {
namespace {

constexpr int64_t kEverything = std::numeric_limits<int64_t>::max();

void read_mnist(job::Settings& file, TrainJob& job) {
  const std::string path = job::expand_home(file.text("data.path"));
  data::Mnist digits = job::about(file, "data.path", [&] { return data::read_mnist(path); });
  job.train = std::make_shared<data::TensorDataset>(digits.train);
  job.validation = std::make_shared<data::TensorDataset>(digits.test);
}

std::shared_ptr<data::ImageFolder> open_folder(job::Settings& file, const std::string& key,
                                               const data::ImageFolderOptions& options) {
  const std::string path = job::expand_home(file.text(key));
  return job::about(file, key, [&] {
    if (data::is_uri(path)) return std::make_shared<data::ImageFolder>(data::remote_files(path), options);
    return std::make_shared<data::ImageFolder>(path, options);
  });
}

void read_images(job::Settings& file, TrainJob& job) {
  const int64_t size = file.whole("data.image_size", 224, 1);
  data::ImageFolderOptions train;
  train.decode.max_pixels = file.whole("data.max_pixels", train.decode.max_pixels, 1);
  train.pipeline = data::Pipeline({data::RandomResizedCrop{size, size}, data::HorizontalFlip{}});
  if (!file.flag("data.augment", true)) train.pipeline = data::Pipeline({data::Resize{size, size}});
  const auto folder = open_folder(file, "data.path", train);
  data::ImageFolderOptions validation;
  validation.decode = train.decode;
  validation.pipeline = data::Pipeline({data::Resize{size, size}});
  job.train = folder;
  job.metadata = {.preprocessing = validation.pipeline, .class_names = folder->classes()};
  if (!file.has("data.validation")) return;
  job.validation = open_folder(file, "data.validation", validation);
}

void read_data(job::Settings& file, TrainJob& job) {
  const std::vector<std::string> kinds = {"mnist", "images"};
  file.text("data.kind");
  switch (file.choice("data.kind", kinds, 0)) {
    case 0: read_mnist(file, job); break;
    default: read_images(file, job); break;
  }
  const int64_t limit = file.whole("data.limit", kEverything, 1);
  if (limit < job.train->size()) {
    job.train = std::make_shared<data::Subset>(data::Subset::first(job.train, limit));
  }
}

}  // namespace

TrainJob read_job(job::Settings& file) {
  TrainJob job{nullptr, nullptr, nullptr, job::read_training(file), {}, true, ""};
  job.group.tls = job.training.tls;
  job.group.path = static_cast<comm::Path>(file.choice("group.transport", {"auto", "tcp", "mpi"}, 0));
  read_data(file, job);
  const std::string model = file.text("model.name");
  const Attributes model_options = file.other_attributes("model");
  job.graph = job::about(file, "model.name", [&] { return zoo::build(model, model_options); });
  job::freeze(*job.graph, job.training, file);
  job.resume = file.flag("output.resume", true);
  job.model_path = job::expand_home(file.text("output.model", ""));
  file.finish();
  return job;
}

}  // namespace thalweg::cli

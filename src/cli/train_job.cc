// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "cli/train_job.h"

#include <cstdlib>
#include <limits>

#include "base/text.h"
#include "cli/command.h"
#include "thalweg/losses.h"
#include "thalweg/passes.h"
#include "thalweg/zoo.h"

namespace thalweg::cli {
namespace {

constexpr int64_t kEverything = std::numeric_limits<int64_t>::max();

/// A leading ~ stands for the home directory, as in a shell.
std::string expand_home(const std::string& path) {
  const char* home = std::getenv("HOME");
  return path.rfind("~/", 0) == 0 && home != nullptr ? home + path.substr(1) : path;
}

/// What somebody says about the value of a key, with the place of the key in front.
template <typename Make>
auto about(const JobFile& file, const std::string& key, const Make& make) {
  try {
    return make();
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    file.reject(key, std::string(": ") + error.what());
  }
}

void read_mnist(JobFile& file, TrainJob& job) {
  const std::string path = expand_home(file.text("data.path"));
  data::Mnist digits = about(file, "data.path", [&] { return data::read_mnist(path); });
  job.train = std::make_shared<data::TensorDataset>(digits.train);
  job.validation = std::make_shared<data::TensorDataset>(digits.test);
}

void read_images(JobFile& file, TrainJob& job) {
  const int64_t size = file.whole("data.image_size", 224, 1);
  data::ImageFolderOptions train;
  train.pipeline = data::Pipeline({data::RandomResizedCrop{size, size}, data::HorizontalFlip{}});
  if (!file.flag("data.augment", true)) train.pipeline = data::Pipeline({data::Resize{size, size}});
  const std::string path = expand_home(file.text("data.path"));
  job.train = about(file, "data.path", [&] { return std::make_shared<data::ImageFolder>(path, train); });
  if (!file.has("data.validation")) return;
  data::ImageFolderOptions validation;
  validation.pipeline = data::Pipeline({data::Resize{size, size}});
  const std::string other = expand_home(file.text("data.validation"));
  job.validation =
      about(file, "data.validation", [&] { return std::make_shared<data::ImageFolder>(other, validation); });
}

void read_data(JobFile& file, TrainJob& job) {
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

Loss read_loss(JobFile& file) {
  const std::vector<std::string> names = {"cross_entropy", "bce_with_logits", "mse", "l1"};
  switch (file.choice("train.loss", names, 0)) {
    case 0: return losses::cross_entropy;
    case 1: return losses::bce_with_logits;
    case 2: return losses::mse;
    default: return losses::l1;
  }
}

TrainOptions read_options(JobFile& file) {
  TrainOptions options;
  options.epochs = file.whole("train.epochs", 1, 1);
  options.batch_size = file.whole("train.batch_size", 32, 1);
  options.seed = static_cast<uint64_t>(file.whole("train.seed", 0, 0));
  options.shuffle = file.flag("train.shuffle", true);
  options.threads = static_cast<int>(file.whole("train.threads", 0, 0));
  options.learning_rate = file.number("train.learning_rate", 0);
  options.clip_norm = file.number("train.clip_norm", 0);
  const std::string precision = file.text("train.precision", "f32");
  options.precision = about(file, "train.precision", [&] { return precision_from_name(precision); });
  const std::string metric = file.text("train.metric", "accuracy");
  if (!metric.empty()) {
    options.metrics = {about(file, "train.metric", [&] { return metrics::make_metric(metric); })};
  }
  options.checkpoints.directory = expand_home(file.text("output.checkpoints", ""));
  options.checkpoints.keep = static_cast<int>(file.whole("output.keep", 3, 1));
  options.tensorboard = expand_home(file.text("output.tensorboard", ""));
  return options;
}

sync::SchemeOptions read_scheme(JobFile& file) {
  sync::SchemeOptions options;
  std::vector<std::string> names;
  for (const sync::Preset& preset : sync::presets()) names.push_back(preset.name);
  options.name = names[file.choice("scheme.name", names, 0)];
  options.bucket_bytes =
      static_cast<size_t>(file.whole("scheme.bucket_bytes", static_cast<int64_t>(options.bucket_bytes), 1));
  options.compression = static_cast<sync::Compression>(file.choice("scheme.compression", {"none", "bf16", "f16"}, 0));
  options.copies = static_cast<int>(file.whole("scheme.copies", options.copies, 0));
  options.staleness = static_cast<int>(file.whole("scheme.staleness", options.staleness, sync::kUnbounded));
  options.period = static_cast<int>(file.whole("scheme.period", options.period, 1));
  return options;
}

}  // namespace

TrainJob read_job(JobFile& file) {
  TrainJob job{nullptr, nullptr, nullptr, read_loss(file), "", {}, read_options(file), read_scheme(file), true, ""};
  read_data(file, job);
  const std::string model = file.text("model.name");
  const Attributes model_options = file.other_attributes("model");
  job.graph = about(file, "model.name", [&] { return zoo::build(model, model_options); });
  job.optimizer = file.text("optimizer.name", "sgd");
  job.optimizer_options = file.other_numbers("optimizer");
  about(file, "optimizer.name", [&] { return optim::make_optimizer(job.optimizer, job.optimizer_options); });
  job.resume = file.flag("output.resume", true);
  job.model_path = expand_home(file.text("output.model", ""));
  file.finish();
  return job;
}

}  // namespace thalweg::cli

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "bench/data_run.h"

#include <cmath>
#include <cstdlib>
#include <memory>
#include <vector>

#include "thalweg/data.h"
#include "thalweg/data/table.h"

namespace thalweg::bench {

std::string data_path(const std::string& name) {
  const char* deps = std::getenv("THALWEG_DEPS");
  const char* home = std::getenv("HOME");
  const std::string root = deps != nullptr ? deps : std::string(home != nullptr ? home : ".") + "/.cache/thalweg";
  return root + "/bench-data/" + name;
}

namespace {

double mean_magnitude(const Tensor& tensor) {
  double sum = 0;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) sum += std::abs(tensor.data<float>()[i]);
  return sum / static_cast<double>(tensor.num_elements());
}

/// Hands every batch of one epoch to `use`.
template <typename Use>
void for_each_batch(const data::Dataset& dataset, const data::SamplerOptions& order, int threads, const Use& use) {
  const data::BatchSampler sampler(dataset.size(), order);
  data::Loader loader(dataset, sampler, {.threads = threads, .max_batches = sampler.batches_per_epoch()});
  data::LoadedBatch loaded;
  while (loader.next(loaded)) use(loaded.batch);
}

/// The images as prediction sees them, where nothing is random and both sides must agree.
double checked_images(const std::string& directory) {
  const data::Pipeline pipeline({data::ResizeShorter{.shorter = 256}, data::CenterCrop{}});
  const data::ImageFolder folder(directory, {.pipeline = pipeline});
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < folder.size(); i += folder.size() / 32) indices.push_back(i);
  return mean_magnitude(folder.fetch(indices).inputs[0]);
}

std::function<double()> images(int threads) {
  const std::string directory = data_path("photos");
  const double check = checked_images(directory);
  const data::Pipeline pipeline({data::RandomResizedCrop{}, data::HorizontalFlip{}});
  const auto folder = std::make_shared<data::ImageFolder>(directory, data::ImageFolderOptions{.pipeline = pipeline});
  return [=, epoch = uint64_t{0}]() mutable {
    int64_t count = 0;
    for_each_batch(*folder, {.batch_size = 64, .seed = ++epoch}, threads,
                   [&](const data::Batch& batch) { count += batch.size(); });
    TW_REQUIRE(count == folder->size(), "read ", count, " of ", folder->size(), " images");
    return check;
  };
}

std::function<double()> table(const std::string& file, int columns, int threads) {
  data::TableOptions options;
  options.inputs.resize(1);
  for (int i = 0; i < columns; ++i) options.inputs[0].columns.push_back("c" + std::to_string(i));
  options.threads = threads;
  options.memory_bytes = int64_t{128} << 20;
  return [=, path = data_path(file)] {
    const data::Table rows(path, options);
    double sum = 0;
    // Every row arrives; a few of each batch are looked at, so that what is timed is the reading.
    for_each_batch(rows, {.batch_size = 8192, .shuffle = false}, 1, [&](const data::Batch& batch) {
      const float* values = batch.inputs[0].data<float>();
      for (int64_t i = 0; i < batch.size(); i += 1024) sum += std::abs(values[i * columns + i % columns]);
    });
    return sum;
  };
}

}  // namespace

std::function<double()> data_step(const std::string& name, int threads) {
  if (name == "data_imagefolder_224") return images(threads);
  if (name == "data_parquet_200cols") return table("table.parquet", 200, threads);
  if (name == "data_csv") return table("table.csv", 20, threads);
  raise("there is no data case '", name, "'; known: data_imagefolder_224, data_parquet_200cols, data_csv");
}

}  // namespace thalweg::bench

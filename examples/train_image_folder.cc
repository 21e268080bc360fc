// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
// Trains a network on a folder of images with a class for each folder, and shows what reading them costs: how long
// training waits for a batch, what the batch takes to decode, and how much memory the process holds.
//
//   train_image_folder DIR [MODEL [IMAGE_SIZE [BATCH [EPOCHS [STEPS]]]]]
//
// By default resnet50 at 224 x 224, batches of 16, one epoch, all of its steps.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "thalweg/data.h"
#include "thalweg/losses.h"
#include "thalweg/train.h"
#include "thalweg/zoo.h"

using namespace thalweg;

double resident_megabytes() {
  double pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Seconds of one processor for a batch: read, decoded and transformed, with nothing else going on.
double decode_seconds(const data::Dataset& images, int64_t batch) {
  std::vector<int64_t> some(static_cast<size_t>(std::min(batch, images.size())));
  std::iota(some.begin(), some.end(), int64_t{0});
  const data::Batch target = images.allocate(static_cast<int64_t>(some.size()));
  images.read(some, {}, target, 0);  // the files are in the system's cache from here on
  const auto begin = std::chrono::steady_clock::now();
  images.read(some, {}, target, 0);
  return seconds_since(begin);
}

/// Reports after every epoch and at the end. The first step compiles the network and is left out.
class CostReport : public Callback {
 public:
  explicit CostReport(double decode) : decode_(decode) {}

  void on_step(const TrainState& state) override {
    if (state.batch == 1) first_ = state;
  }
  void on_epoch(const TrainState& state) override { report(state); }
  void on_end(const TrainState& state) override {
    if (state.batch < state.batches_per_epoch) report(state);
  }

 private:
  static double waited(const TrainState& state) { return state.data_wait_share * state.epoch_seconds; }

  void report(const TrainState& state) const {
    if (state.batch <= first_.batch) return;
    const auto steps = static_cast<double>(state.batch - first_.batch);
    const double step = (state.epoch_seconds - first_.epoch_seconds) / steps;
    const double wait = (waited(state) - waited(first_)) / steps;
    std::printf(
        "epoch %lld, step %lld: %.1f ms a step, of which %.2f ms waiting for data (%.2f%%); to decode a batch takes "
        "%.1f ms of one processor; wait beyond that %.2f%%; memory %.0f MB\n",
        static_cast<long long>(state.progress.epoch), static_cast<long long>(state.progress.iteration), 1e3 * step,
        1e3 * wait, 100 * wait / step, 1e3 * decode_, 100 * std::max(0.0, wait - decode_) / step, resident_megabytes());
    std::fflush(stdout);
  }

  const double decode_;
  TrainState first_;
};

int main(int argc, char** argv) {
  const auto argument = [&](int i, const char* otherwise) { return std::string(i < argc ? argv[i] : otherwise); };
  const std::string directory = argument(1, "");
  if (!std::filesystem::is_directory(directory)) {
    std::fprintf(stderr, "usage: train_image_folder DIR [MODEL [IMAGE_SIZE [BATCH [EPOCHS [STEPS]]]]]\n");
    return 77;
  }
  const int64_t size = std::stoll(argument(3, "224"));
  const int64_t batch = std::stoll(argument(4, "16"));
  const int64_t epochs = std::stoll(argument(5, "1"));
  const int64_t steps = std::stoll(argument(6, "0"));

  const data::Pipeline pipeline({data::RandomResizedCrop{.height = size, .width = size}, data::HorizontalFlip{}});
  const data::ImageFolder images(directory, {.pipeline = pipeline});
  const auto classes = static_cast<int64_t>(images.classes().size());
  Model model(zoo::build(argument(2, "resnet50"), {{"classes", classes}, {"image_size", size}}));
  TrainOptions options;
  options.epochs = epochs;
  if (steps > 0) options.end = optim::max_iteration(steps);
  options.batch_size = batch;
  options.last_batch = data::LastBatch::kDrop;
  options.progress = ShowProgress::kNone;
  options.callbacks = {std::make_shared<CostReport>(decode_seconds(images, batch))};
  Trainer trainer(model, losses::cross_entropy, optim::sgd(), options);
  trainer.fit(images);
  return 0;
}

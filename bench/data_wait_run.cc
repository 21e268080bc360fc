// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "bench/data_wait_run.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>

#include "bench/data_run.h"
#include "thalweg/losses.h"
#include "thalweg/zoo.h"

namespace thalweg::bench {
namespace {

constexpr int64_t kBatch = 16;

/// The best of a few, with nothing else going on and the files in the system's cache.
double fastest_decode_ms(const data::Dataset& images) {
  std::vector<int64_t> some(kBatch);
  std::iota(some.begin(), some.end(), int64_t{0});
  const data::Batch target = images.allocate(kBatch);
  double best = std::numeric_limits<double>::infinity();
  for (int64_t round = 0; round < 5; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    images.read(some, {.epoch = round}, target, 0);
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
    best = std::min(best, taken.count());
  }
  return best;
}

}  // namespace

/// Takes down every step and ends the run after as many as are wanted.
class DataWaitRun::Watch : public Callback {
 public:
  void expect(Trainer& trainer, int steps) {
    trainer_ = &trainer;
    left_ = steps;
    seen_ = {};
  }
  const Steps& seen() const { return seen_; }

  void on_step(const TrainState& state) override {
    const double seconds = state.epoch_seconds, waited = state.data_wait_share * state.epoch_seconds;
    if (state.batch == 1) seconds_ = waited_ = 0;  // both are those of the epoch
    seen_.ms.push_back(1e3 * (seconds - seconds_));
    seen_.wait_ms.push_back(1e3 * (waited - waited_));
    seen_.losses.push_back(state.progress.loss);
    seconds_ = seconds;
    waited_ = waited;
    if (--left_ == 0) trainer_->request_stop();
  }

 private:
  Trainer* trainer_ = nullptr;
  int left_ = 0;
  double seconds_ = 0, waited_ = 0;
  Steps seen_;
};

DataWaitRun::DataWaitRun(int threads) : watch_(std::make_shared<Watch>()) {
  const data::Pipeline pipeline({data::RandomResizedCrop{}, data::HorizontalFlip{}});
  images_ = std::make_unique<data::ImageFolder>(data_path("photos"), data::ImageFolderOptions{.pipeline = pipeline});
  decode_ms_ = fastest_decode_ms(*images_);
  model_ = std::make_unique<Model>(zoo::build("resnet50", {{"classes", 1000}, {"image_size", 224}}));
  TrainOptions options;
  options.batch_size = kBatch;
  options.last_batch = data::LastBatch::kDrop;
  options.threads = threads;
  options.readers = threads;
  options.epochs = std::numeric_limits<int32_t>::max();
  options.learning_rate = 1e-4;
  options.progress = ShowProgress::kNone;
  options.callbacks = {watch_};
  trainer_ = std::make_unique<Trainer>(*model_, losses::cross_entropy, optim::sgd(), options);
}

DataWaitRun::Steps DataWaitRun::run(int steps) {
  watch_->expect(*trainer_, steps + 1);
  trainer_->request_stop(false);
  trainer_->fit(*images_);
  Steps result = watch_->seen();
  for (std::vector<double>* values : {&result.ms, &result.wait_ms, &result.losses}) values->erase(values->begin());
  return result;
}

}  // namespace thalweg::bench

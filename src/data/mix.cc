// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <mutex>
#include <numeric>

#include "data/random.h"
#include "thalweg/data/views.h"

namespace thalweg::data {

/// Which sample of which source is where, epoch by epoch. What an epoch holds follows from its number alone.
class Mix::Plan {
 public:
  Plan(std::vector<int64_t> sizes, std::vector<double> weights, int64_t size, uint64_t seed)
      : sizes_(std::move(sizes)), weights_(std::move(weights)), size_(size), seed_(seed) {
    total_ = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  }

  int64_t size() const { return size_; }

  Location locate(int64_t index, int64_t epoch) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return locations(epoch)[static_cast<size_t>(index)];
  }

 private:
  struct Epoch {
    int64_t number;
    std::vector<Location> locations;
  };
  /// A loader reads ahead into the next epoch.
  static constexpr size_t kEpochsKept = 2;

  const std::vector<Location>& locations(int64_t epoch) {
    const auto found =
        std::find_if(epochs_.begin(), epochs_.end(), [&](const Epoch& other) { return other.number == epoch; });
    if (found != epochs_.end()) return found->locations;
    if (epochs_.size() == kEpochsKept) epochs_.pop_front();
    epochs_.push_back({epoch, arrange(epoch)});
    return epochs_.back().locations;
  }

  /// How many samples of each source an epoch holds if `given` were handed out before it.
  std::vector<int64_t> counts(const std::vector<int64_t>& given, int64_t epoch) const {
    std::vector<int64_t> result;
    std::vector<double> due;  ///< up to the end of this epoch
    for (size_t s = 0; s < weights_.size(); ++s) {
      const double samples = static_cast<double>(epoch + 1) * static_cast<double>(size_);
      due.push_back(samples * (weights_[s] / total_) - static_cast<double>(given[s]));
      result.push_back(std::max<int64_t>(0, static_cast<int64_t>(due[s])));
    }
    const auto behind = [&](size_t s) { return due[s] - static_cast<double>(result[s]); };
    // One by one to whoever is furthest behind, or from whoever is furthest ahead; sources of weight 0 are neither.
    for (int64_t rest = size_ - std::accumulate(result.begin(), result.end(), int64_t{0}); rest != 0;) {
      const int64_t change = rest > 0 ? 1 : -1;
      size_t chosen = weights_.size();
      for (size_t s = 0; s < weights_.size(); ++s) {
        if (weights_[s] == 0 || result[s] + change < 0) continue;
        if (chosen == weights_.size() || (behind(s) - behind(chosen)) * static_cast<double>(change) > 0) chosen = s;
      }
      result[chosen] += change;
      rest -= change;
    }
    return result;
  }

  std::vector<Location> arrange(int64_t epoch) const {
    std::vector<int64_t> given(sizes_.size(), 0);
    std::vector<int64_t> count = counts(given, 0);
    for (int64_t before = 0; before < epoch; ++before) {
      std::transform(given.begin(), given.end(), count.begin(), given.begin(), std::plus<>());
      count = counts(given, before + 1);
    }
    std::vector<Location> result;
    result.reserve(static_cast<size_t>(size_));
    for (size_t s = 0; s < sizes_.size(); ++s) add(s, given[s], count[s], result);
    Random random(seed_, static_cast<uint64_t>(epoch));
    shuffle(result, random);
    return result;
  }

  /// The samples that source `s` hands out after `given` others.
  void add(size_t s, int64_t given, int64_t count, std::vector<Location>& result) const {
    std::vector<int64_t> order;
    int64_t arranged = -1;
    for (int64_t i = given; i < given + count; ++i) {
      const int64_t round = i / sizes_[s];
      if (round != arranged) {
        order.resize(static_cast<size_t>(sizes_[s]));
        std::iota(order.begin(), order.end(), int64_t{0});
        Random random(seed_, s, static_cast<uint64_t>(round));
        shuffle(order, random);
        arranged = round;
      }
      result.push_back({s, order[static_cast<size_t>(i % sizes_[s])], round});
    }
  }

  const std::vector<int64_t> sizes_;
  const std::vector<double> weights_;
  double total_ = 0;
  const int64_t size_;
  const uint64_t seed_;
  std::mutex mutex_;
  std::deque<Epoch> epochs_;
};

Mix::Mix(std::vector<DatasetPtr> all, const std::vector<double>& weights, int64_t size, uint64_t seed)
    : View("mix", std::move(all)) {
  TW_REQUIRE(weights.size() == sources().size(), "mix: ", weights.size(), " weights for ", sources().size(),
             " datasets");
  TW_REQUIRE(size >= 0, "mix: the size must not be negative, got ", size);
  std::vector<int64_t> sizes;
  bool any = false;
  for (size_t i = 0; i < weights.size(); ++i) {
    TW_REQUIRE(weights[i] >= 0 && weights[i] < 1e300, "mix: weight ", i, " is ", weights[i]);
    TW_REQUIRE(weights[i] == 0 || sources()[i]->size() > 0, "mix: dataset ", i, " is empty");
    any = any || weights[i] > 0;
    sizes.push_back(sources()[i]->size());
  }
  TW_REQUIRE(any, "mix: all weights are 0");
  plan_ = std::make_unique<Plan>(std::move(sizes), weights, size, seed);
}

Mix::~Mix() = default;
int64_t Mix::size() const { return plan_->size(); }
View::Location Mix::locate(int64_t index, int64_t epoch) const { return plan_->locate(index, epoch); }

}  // namespace thalweg::data

// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/gradient_exchange.h"

namespace thalweg::sync {
namespace {

/// Gradients travel as they are.
class WholeExchange : public GradientExchange {
 public:
  WholeExchange() : GradientExchange(nullptr) {}
  void begin(std::span<float> /*values*/) override {}
  comm::Status all_reduce(comm::Communicator& communicator, std::span<float> values) override {
    return communicator.all_reduce(values.data(), values.size(), DType::kF32);
  }
  comm::Status reduce_scatter(comm::Communicator& communicator, std::span<float> values) override {
    return communicator.reduce_scatter(values.data(), values.size(), DType::kF32);
  }
  comm::Status end(std::span<float> /*values*/) override { return {}; }
};

}  // namespace

std::unique_ptr<GradientExchange> GradientExchange::make(std::unique_ptr<Compressor> compressor) {
  if (compressor == nullptr) return std::make_unique<WholeExchange>();
  Compressor& chosen = *compressor;
  return chosen.into_exchange(std::move(compressor));
}

void GradientExchange::use(const GradientBuckets& buckets, const Variables& variables) {
  if (compressor_ == nullptr) return;
  shapes_.clear();
  buckets_.clear();
  for (const std::span<float> values : buckets.all()) {
    Bucket& bucket = buckets_[values.data()];
    for (const Piece& piece : buckets.pieces(1, 0)) {
      const float* at = piece.gradient.data();
      if (at < values.data() || at >= values.data() + values.size()) continue;
      bucket.items.push_back({shapes_.size(), static_cast<size_t>(at - values.data()), piece.gradient.size()});
      shapes_.push_back({variables.name(piece.variable), piece.gradient.size(), variables.layout(piece.variable)});
    }
  }
  compressor_->use(shapes_);
}

void GradientExchange::watch(int rank, Sees sees) {
  watched_ = rank;
  sees_ = std::move(sees);
}

void GradientExchange::begin_step(const CodeStep& step) {
  workers_ = step.workers;
  if (compressor_ != nullptr) compressor_->begin_step(step);
}

}  // namespace thalweg::sync

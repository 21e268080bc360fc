// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/gradient_exchange.h"

#include <algorithm>
#include <cstring>

#include "sync/compress/bits.h"
#include "sync/gather_parts.h"

namespace thalweg::sync {
namespace {

comm::Failure bad_code(size_t rank, const std::string& what) {
  return {comm::FailureKind::kProtocol, static_cast<int>(rank), what, 0};
}

}  // namespace

GradientExchange::GradientExchange(std::unique_ptr<Compressor> compressor)
    : compressor_(std::move(compressor)),
      summed_(dynamic_cast<SummedCompressor*>(compressor_.get())),
      gathered_(dynamic_cast<GatheredCompressor*>(compressor_.get())) {}

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

void GradientExchange::begin(std::span<float> values) {
  if (compressor_ == nullptr || (gathered_ != nullptr && gathered_->agrees())) return;
  Bucket& bucket = bucket_of(values);
  encode(bucket, values, std::vector<float>(bucket.items.size()));
}

void GradientExchange::encode(Bucket& bucket, std::span<const float> values, const std::vector<float>& agreed) {
  bucket.code.clear();
  if (summed_ != nullptr) bucket.code.resize(code_elements(bucket, 0) * size_of(summed_->dtype()));
  size_t at = 0;
  for (size_t i = 0; i < bucket.items.size(); ++i) {
    const Item& item = bucket.items[i];
    const std::span<const float> gradient = values.subspan(item.begin, item.floats);
    if (summed_ != nullptr) {
      summed_->encode(item.gradient, gradient, bucket.code.data() + at);
      at += summed_->code_elements(item.gradient, 0) * size_of(summed_->dtype());
      continue;
    }
    // Each code has its size before it.
    const size_t begin = bucket.code.size();
    put_number(bucket.code, uint32_t{0});
    gathered_->encode(item.gradient, gradient, agreed[i], bucket.code);
    const auto size = static_cast<uint32_t>(bucket.code.size() - begin - sizeof(uint32_t));
    std::memcpy(bucket.code.data() + begin, &size, sizeof size);
  }
}

comm::Status GradientExchange::agree(comm::Communicator& communicator, Bucket& bucket, std::span<const float> values) {
  std::vector<float> numbers;
  for (const Item& item : bucket.items) {
    numbers.push_back(gathered_->measure(item.gradient, values.subspan(item.begin, item.floats)));
  }
  comm::Status status = communicator.all_reduce(numbers.data(), numbers.size(), DType::kF32, comm::ReduceOp::kMax);
  if (status.ok()) encode(bucket, values, numbers);
  return status;
}

comm::Status GradientExchange::all_reduce(comm::Communicator& communicator, std::span<float> values) {
  if (compressor_ == nullptr) return communicator.all_reduce(values.data(), values.size(), DType::kF32);
  Bucket& bucket = bucket_of(values);
  if (summed_ != nullptr) return add_up(communicator, bucket);
  if (gathered_->agrees()) {
    if (comm::Status status = agree(communicator, bucket, values); !status) return status;
  }
  return gather(communicator, bucket);
}

size_t GradientExchange::code_elements(const Bucket& bucket, int round) const {
  size_t elements = 0;
  for (const Item& item : bucket.items) elements += summed_->code_elements(item.gradient, round);
  return elements;
}

comm::Status GradientExchange::add_up(comm::Communicator& communicator, Bucket& bucket) {
  const DType dtype = summed_->dtype();
  for (int round = 0;; ++round) {
    comm::Status status = communicator.all_reduce(bucket.code.data(), code_elements(bucket, round), dtype);
    if (!status || round + 1 == summed_->rounds()) return status;
    Bytes next(code_elements(bucket, round + 1) * size_of(dtype));
    size_t from = 0, to = 0;
    for (const Item& item : bucket.items) {
      summed_->encode_next(item.gradient, round + 1, bucket.code.data() + from, next.data() + to);
      from += summed_->code_elements(item.gradient, round) * size_of(dtype);
      to += summed_->code_elements(item.gradient, round + 1) * size_of(dtype);
    }
    bucket.code = std::move(next);
  }
}

size_t GradientExchange::most_bytes(const Bucket& bucket) const {
  size_t bytes = 0;
  for (const Item& item : bucket.items) bytes += sizeof(uint32_t) + gathered_->most_bytes(item.gradient);
  return bytes;
}

comm::Status GradientExchange::gather(comm::Communicator& communicator, Bucket& bucket) {
  bucket.sizes.assign(static_cast<size_t>(communicator.size()), 0);
  bucket.sizes[static_cast<size_t>(communicator.rank())] = static_cast<int64_t>(bucket.code.size());
  comm::Status status = communicator.all_gather(bucket.sizes.data(), bucket.sizes.size(), DType::kI64);
  if (!status) return status;
  const auto most = static_cast<int64_t>(most_bytes(bucket));
  for (size_t rank = 0; rank < bucket.sizes.size(); ++rank) {
    if (bucket.sizes[rank] >= 0 && bucket.sizes[rank] <= most) continue;
    return bad_code(rank, "it announced a code of " + std::to_string(bucket.sizes[rank]) +
                              " bytes for gradients that take at most " + std::to_string(most));
  }
  std::vector<uint8_t> all(bucket.code.size());
  std::memcpy(all.data(), bucket.code.data(), all.size());
  if (status = gather_parts(communicator, all, bucket.sizes, 1); !status) return status;
  bucket.code.resize(all.size());
  std::memcpy(bucket.code.data(), all.data(), all.size());
  return {};
}

comm::Status GradientExchange::reduce_scatter(comm::Communicator& communicator, std::span<float> values) {
  if (compressor_ == nullptr) return communicator.reduce_scatter(values.data(), values.size(), DType::kF32);
  // Sums of one round are needed for this worker's part only; everything else is needed whole.
  if (summed_ == nullptr || summed_->rounds() > 1) {
    comm::Status status = all_reduce(communicator, values);
    return status.ok() ? end(values) : status;
  }
  Bucket& bucket = bucket_of(values);
  comm::Status status = communicator.reduce_scatter(bucket.code.data(), code_elements(bucket, 0), summed_->dtype());
  if (status.ok()) {
    decode_sum(bucket, values, comm::part_of(values.size(), communicator.size(), communicator.rank()));
  }
  return status;
}

comm::Status GradientExchange::end(std::span<float> values) {
  if (compressor_ == nullptr) return {};
  const Bucket& bucket = bucket_of(values);
  if (gathered_ != nullptr) return decode_all(bucket, values);
  decode_sum(bucket, values, {0, values.size()});
  return {};
}

void GradientExchange::decode_sum(const Bucket& bucket, std::span<float> values, const comm::Part& part) {
  const int last = summed_->rounds() - 1;
  size_t at = 0;
  for (const Item& item : bucket.items) {
    const bool is_wanted = item.begin < part.end && item.begin + item.floats > part.begin;
    if (is_wanted) {
      summed_->decode(item.gradient, bucket.code.data() + at, values.subspan(item.begin, item.floats));
      if (watched_ >= 0 && summed_->shares_sum(item.gradient)) {
        tell_share(item.gradient, values.subspan(item.begin, item.floats));
      }
    }
    at += summed_->code_elements(item.gradient, last) * size_of(summed_->dtype());
  }
}

void GradientExchange::tell_share(size_t gradient, std::span<const float> sum) {
  const auto share = 1.0F / static_cast<float>(workers_);
  seen_.resize(sum.size());
  for (size_t i = 0; i < sum.size(); ++i) seen_[i] = share * sum[i];
  sees_(gradient, seen_);
}

comm::Status GradientExchange::decode_all(const Bucket& bucket, std::span<float> values) {
  std::fill(values.begin(), values.end(), 0.0F);
  std::span<const std::byte> rest = bucket.code;
  for (size_t rank = 0; rank < bucket.sizes.size(); ++rank) {
    const auto size = static_cast<size_t>(bucket.sizes[rank]);
    try {
      add_code(bucket, rest.subspan(0, size), values, static_cast<int>(rank) == watched_);
    } catch (const Error& error) {
      return bad_code(rank, error.what());
    }
    rest = rest.subspan(size);
  }
  return {};
}

void GradientExchange::add_code(const Bucket& bucket, std::span<const std::byte> code, std::span<float> values,
                                bool is_watched) {
  for (const Item& item : bucket.items) {
    const auto size = take_number<uint32_t>(code);
    TW_REQUIRE(size <= code.size(), "the code of a gradient should have ", size, " bytes, there are ", code.size());
    const std::span<float> sum = values.subspan(item.begin, item.floats);
    if (is_watched) {
      seen_.assign(item.floats, 0.0F);
      gathered_->decode_add(item.gradient, code.subspan(0, size), seen_);
      sees_(item.gradient, seen_);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += seen_[i];
    } else {
      gathered_->decode_add(item.gradient, code.subspan(0, size), sum);
    }
    code = code.subspan(size);
  }
  TW_REQUIRE(code.empty(), "codes of gradients have ", code.size(), " bytes too many");
}

}  // namespace thalweg::sync

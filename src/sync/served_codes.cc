// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#include "sync/served_codes.h"

#include <algorithm>
#include <cstring>

#include "sync/compress/bits.h"
#include "thalweg/comm.h"

namespace thalweg::sync {

void Compressor::append_part(size_t /*gradient*/, std::span<const std::byte> code, comm::Part part,
                             Bytes& message) const {
  const size_t unit = bytes_per_element();
  if (unit > 0) code = code.subspan(part.begin * unit, part.size() * unit);
  message.insert(message.end(), code.begin(), code.end());
}

void Compressor::decode_part(size_t gradient, std::span<const std::byte> code, comm::Part part, size_t floats,
                             std::span<float> sum) const {
  if (bytes_per_element() > 0) return decode_alone(gradient, code, sum);
  std::vector<float> whole(floats);
  decode_alone(gradient, code, whole);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += whole[part.begin + i];
}

void ServedCodes::use(const GradientBuckets& buckets, const Variables& variables, int parts) {
  parts_ = parts;
  items_.clear();
  floats_ = 0;
  std::vector<GradientShape> shapes;
  for (const Piece& piece : buckets.pieces(1, 0)) {
    items_.push_back({floats_, piece.gradient.size()});
    shapes.push_back({variables.name(piece.variable), piece.gradient.size(), variables.layout(piece.variable)});
    floats_ += piece.gradient.size();
  }
  codes_.assign(items_.size(), {});
  if (compressor_ != nullptr) compressor_->use(shapes);
}

comm::Part ServedCodes::in_part(const Item& item, int part) const {
  const comm::Part whole = comm::part_of(floats_, parts_, part);
  const size_t begin = std::clamp(whole.begin, item.begin, item.begin + item.floats);
  const size_t end = std::clamp(whole.end, begin, item.begin + item.floats);
  return {begin - item.begin, end - item.begin};
}

void ServedCodes::encode(std::span<const float> row, const CodeStep& step) {
  if (compressor_ == nullptr) {
    row_.assign(row.begin(), row.end());
    return;
  }
  compressor_->begin_step(step);
  for (size_t i = 0; i < items_.size(); ++i) {
    codes_[i].clear();
    compressor_->encode_alone(i, row.subspan(items_[i].begin, items_[i].floats), codes_[i]);
  }
}

void ServedCodes::append(int part, Bytes& message) const {
  if (compressor_ == nullptr) {
    const comm::Part own = comm::part_of(floats_, parts_, part);
    const auto* bytes = reinterpret_cast<const std::byte*>(row_.data() + own.begin);
    message.insert(message.end(), bytes, bytes + own.size() * sizeof(float));
    return;
  }
  for (size_t i = 0; i < items_.size(); ++i) {
    const comm::Part own = in_part(items_[i], part);
    if (own.size() == 0) continue;
    const size_t at = message.size();
    put_number(message, uint64_t{0});
    compressor_->append_part(i, codes_[i], own, message);
    const uint64_t size = message.size() - at - sizeof(uint64_t);
    std::memcpy(message.data() + at, &size, sizeof size);
  }
}

void ServedCodes::decode_add(int part, std::span<const std::byte> codes, std::span<float> sum) const {
  if (compressor_ == nullptr) {
    TW_REQUIRE(codes.size() == sum.size_bytes(), "gradients of ", sum.size(), " elements have ", codes.size(),
               " bytes");
    std::vector<float> values(sum.size());
    std::memcpy(values.data(), codes.data(), codes.size());
#pragma omp simd
    for (size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
    return;
  }
  const size_t first = comm::part_of(floats_, parts_, part).begin;
  for (size_t i = 0; i < items_.size(); ++i) {
    const comm::Part own = in_part(items_[i], part);
    if (own.size() == 0) continue;
    const auto size = take_number<uint64_t>(codes);
    TW_REQUIRE(size <= codes.size() && size <= compressor_->most_bytes_alone(i), "the code of a gradient should have ",
               size, " bytes, there are ", codes.size());
    const std::span<float> target = sum.subspan(items_[i].begin + own.begin - first, own.size());
    compressor_->decode_part(i, codes.subspan(0, size), own, items_[i].floats, target);
    codes = codes.subspan(size);
  }
  TW_REQUIRE(codes.empty(), "codes of gradients have ", codes.size(), " bytes too many");
}

}  // namespace thalweg::sync

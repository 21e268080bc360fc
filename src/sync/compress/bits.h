// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "sync/compress/compressor.h"
#include "thalweg/error.h"

namespace thalweg::sync {

/// Appends numbers of so many bits each, the lowest first, to bytes; the last byte is filled up with zeros.
class BitWriter {
 public:
  explicit BitWriter(Bytes& bytes) : bytes_(bytes) {}
  ~BitWriter() {
    flush();
    const size_t at = bytes_.size(), rest = (held_ + 7) / 8;
    bytes_.resize(at + rest);
    std::memcpy(bytes_.data() + at, &word_, rest);
  }
  BitWriter(const BitWriter&) = delete;
  BitWriter& operator=(const BitWriter&) = delete;

  /// At most 32 bits.
  void put(uint32_t value, unsigned bits) {
    word_ |= static_cast<uint64_t>(value) << held_;
    held_ += bits;
    if (held_ < kWord) return;
    words_[count_++] = word_;
    held_ -= kWord;
    // What did not fit any more.
    word_ = static_cast<uint64_t>(value) >> (bits - held_);
    if (count_ == std::size(words_)) flush();
  }

 private:
  static constexpr unsigned kWord = 64;
  void flush() {
    const size_t at = bytes_.size();
    bytes_.resize(at + count_ * sizeof(uint64_t));
    std::memcpy(bytes_.data() + at, words_, count_ * sizeof(uint64_t));
    count_ = 0;
  }

  Bytes& bytes_;
  uint64_t words_[64] = {};
  size_t count_ = 0;
  uint64_t word_ = 0;
  unsigned held_ = 0;
};

/// Reads what a BitWriter wrote. Throws Error where the bytes end too early.
class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint32_t get(unsigned bits) {
    if (held_ < bits) fill(bits);
    const auto value = static_cast<uint32_t>(word_ & ((uint64_t{1} << bits) - 1));
    word_ >>= bits;
    held_ -= bits;
    return value;
  }
  /// Throws Error if whole bytes are left.
  void finish() const {
    const size_t left = bytes_.size() - next_ + held_ / 8;
    TW_REQUIRE(left == 0, "the code of a gradient has ", left, " bytes too many");
  }

 private:
  void fill(unsigned bits) {
    if (bytes_.size() - next_ >= sizeof(uint64_t)) {
      uint64_t more = 0;
      std::memcpy(&more, bytes_.data() + next_, sizeof more);
      // As many whole bytes as there is room for.
      const unsigned taken = (64 - held_) / 8;
      if (taken < sizeof more) more &= (uint64_t{1} << (8 * taken)) - 1;
      word_ |= more << held_;
      next_ += taken;
      held_ += 8 * taken;
      return;
    }
    while (held_ < bits) {
      TW_REQUIRE(next_ < bytes_.size(), "the code of a gradient ends after ", bytes_.size(), " bytes, in its middle");
      word_ |= static_cast<uint64_t>(bytes_[next_++]) << held_;
      held_ += 8;
    }
  }

  std::span<const std::byte> bytes_;
  size_t next_ = 0;
  uint64_t word_ = 0;
  unsigned held_ = 0;
};

template <typename T>
void put_number(Bytes& code, T value) {
  const size_t at = code.size();
  code.resize(at + sizeof value);
  std::memcpy(code.data() + at, &value, sizeof value);
}

/// Takes a number from the front of a code. Throws Error if it is shorter.
template <typename T>
T take_number(std::span<const std::byte>& code) {
  TW_REQUIRE(code.size() >= sizeof(T), "the code of a gradient has ", code.size(), " bytes where a number of ",
             sizeof(T), " should be");
  T value;
  std::memcpy(&value, code.data(), sizeof value);
  code = code.subspan(sizeof value);
  return value;
}

/// Random numbers that follow from a seed and a place alone: the step, the worker, the gradient.
class CodeRandom {
 public:
  CodeRandom(const CodeStep& step, size_t gradient)
      : state_(mix(mix(static_cast<uint64_t>(step.number) * 0x9E3779B97F4A7C15U) ^
                   mix((static_cast<uint64_t>(step.worker) << 32U) + gradient))) {}
  /// Evenly in [0, 1).
  float uniform() {
    constexpr float kUnit = 1.0F / static_cast<float>(1U << 24U);
    state_ += 0x9E3779B97F4A7C15U;
    return static_cast<float>(mix(state_) >> 40U) * kUnit;
  }

 private:
  /// The output function of SplitMix64 (Steele et al., 2014).
  static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  uint64_t state_;
};

}  // namespace thalweg::sync
